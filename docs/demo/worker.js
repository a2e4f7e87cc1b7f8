// Runs the command in a worker: one message in, progress messages and a last one out.
"use strict";
importScripts("wasi.js");

onmessage = event => {
  const { module, words, given, wanted } = event.data, files = new Files();
  for (const [name, data] of given) {
    const folder = Files.parent(name);
    if (folder && !files.nodes.has(folder)) files.make(folder, null);
    files.make(name, data);
  }
  const report = {
    progress: (number, text) => postMessage({ text, number }),
    written: (path, data) => { if (path.endsWith("metrics.jsonl")) postMessage({ metrics: new TextDecoder().decode(data) }); },
  };
  const result = runCommand(module, words, files, report);
  postMessage({ ...result, files: wanted.map(path => [path, files.read(path)]) });
};
