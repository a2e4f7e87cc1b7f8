// The part of WASI (preview 1) that the command uses, with files in memory and one clock. In a worker and in Node.
"use strict";

const ERRNO = { ok: 0, badf: 8, exist: 20, inval: 28, isdir: 31, noent: 44, nosys: 52, notdir: 54, notempty: 55 };
const TYPE = { folder: 3, file: 4, stream: 6 };

class Exit extends Error {
  constructor(code) { super("exit " + code); this.code = code; }
}

// Paths have no leading slash; "" is the root. A folder's data are null.
class Files {
  constructor() { this.nodes = new Map([["", { data: null, size: 0, ino: 1n }]]); this.inodes = 1n; }

  static normal(path) {
    const parts = [];
    for (const part of path.split("/")) if (part === "..") parts.pop(); else if (part && part !== ".") parts.push(part);
    return parts.join("/");
  }
  static parent(path) { return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ""; }

  make(path, data) {
    const node = { data, size: data ? data.length : 0, ino: ++this.inodes, time: BigInt(Date.now()) * 1000000n };
    this.nodes.set(path, node);
    return node;
  }
  children(path) { return [...this.nodes.keys()].filter(name => name && Files.parent(name) === path); }
  read(path) {
    const node = this.nodes.get(Files.normal(path));
    return node && node.data ? node.data.slice(0, node.size) : null;
  }
  rename(from, to) {
    for (const [name, node] of [...this.nodes])
      if (name === from || name.startsWith(from + "/")) {
        this.nodes.delete(name);
        this.nodes.set(to + name.slice(from.length), node);
      }
  }
}

function grow(node, size) {
  if (size > node.data.length) {
    const larger = new Uint8Array(Math.max(size, 2 * node.data.length));
    larger.set(node.data.subarray(0, node.size));
    node.data = larger;
  } else if (size > node.size) {
    node.data.fill(0, node.size, size);
  }
  node.size = Math.max(node.size, size);
}

// args: with the name of the program; env: ["NAME=VALUE"]; files: a Files; output(number, bytes) gets what is written to
// descriptors 1 and 2, written(path, bytes) what is written to files.
function wasi({ args, env, files, output, written }) {
  let memory;
  const stream = () => ({ type: TYPE.stream, node: null, at: 0 });
  const open = [stream(), stream(), stream(), { type: TYPE.folder, path: "", node: files.nodes.get("") }];
  const view = () => new DataView(memory.buffer);
  const bytes = (at, size) => new Uint8Array(memory.buffer, at, size);
  const text = (at, size) => new TextDecoder().decode(bytes(at, size));
  const pathOf = (fd, at, size) => Files.normal((open[fd].path ? open[fd].path + "/" : "") + text(at, size));

  function strings(list, pointers, at) {
    for (const word of list) {
      view().setUint32(pointers, at, true);
      const encoded = new TextEncoder().encode(word + "\0");
      bytes(at, encoded.length).set(encoded);
      pointers += 4;
      at += encoded.length;
    }
    return ERRNO.ok;
  }
  function sizes(list, count, size) {
    view().setUint32(count, list.length, true);
    view().setUint32(size, list.reduce((sum, word) => sum + new TextEncoder().encode(word).length + 1, 0), true);
    return ERRNO.ok;
  }
  function stat(node, type, at) {
    bytes(at, 64).fill(0);
    view().setBigUint64(at + 8, node ? node.ino : 0n, true);
    view().setUint8(at + 16, type);
    view().setBigUint64(at + 24, 1n, true);
    view().setBigUint64(at + 32, BigInt(node ? node.size : 0), true);
    for (const field of [40, 48, 56]) view().setBigUint64(at + field, (node && node.time) || 0n, true);
    return ERRNO.ok;
  }
  function* pieces(vectors, count) {
    for (let i = 0; i < count; i++) yield bytes(view().getUint32(vectors + 8 * i, true), view().getUint32(vectors + 8 * i + 4, true));
  }
  function readAt(file, at, vectors, count) {
    let total = 0;
    for (const to of pieces(vectors, count)) {
      const part = file.node.data.subarray(at + total, Math.min(at + total + to.length, file.node.size));
      to.set(part);
      total += part.length;
    }
    return total;
  }
  const known = fd => open[fd] !== undefined;
  const isFile = fd => known(fd) && open[fd].type === TYPE.file;
  const typeOf = node => (node.data ? TYPE.file : TYPE.folder);

  const system = {
    args_sizes_get: (count, size) => sizes(args, count, size),
    args_get: (pointers, at) => strings(args, pointers, at),
    environ_sizes_get: (count, size) => sizes(env, count, size),
    environ_get: (pointers, at) => strings(env, pointers, at),
    clock_time_get(id, precision, to) {
      const now = id === 0 ? BigInt(Date.now()) * 1000000n : BigInt(Math.round(performance.now() * 1e6));
      view().setBigUint64(to, now, true);
      return ERRNO.ok;
    },
    // Only clocks are waited for, actively: a worker cannot sleep.
    poll_oneoff(subscriptions, events, count, got) {
      if (count !== 1 || view().getUint8(subscriptions + 8) !== 0) return ERRNO.nosys;
      const absolute = view().getUint16(subscriptions + 40, true) & 1;
      const end = Number(view().getBigUint64(subscriptions + 24, true)) / 1e6 + (absolute ? 0 : performance.now());
      while (performance.now() < end);
      bytes(events, 32).fill(0);
      view().setBigUint64(events, view().getBigUint64(subscriptions, true), true);
      view().setUint32(got, 1, true);
      return ERRNO.ok;
    },
    random_get(at, size) {
      crypto.getRandomValues(bytes(at, size));
      return ERRNO.ok;
    },
    proc_exit(code) { throw new Exit(code); },

    fd_close(fd) {
      if (!known(fd)) return ERRNO.badf;
      open[fd] = undefined;
      return ERRNO.ok;
    },
    fd_sync: fd => (known(fd) ? ERRNO.ok : ERRNO.badf),
    fd_fdstat_get(fd, to) {
      if (!known(fd)) return ERRNO.badf;
      bytes(to, 24).fill(0);
      view().setUint8(to, open[fd].type);
      view().setUint16(to + 2, open[fd].append ? 1 : 0, true);
      bytes(to + 8, 16).fill(0xff);
      return ERRNO.ok;
    },
    fd_filestat_get: (fd, to) => (known(fd) ? stat(open[fd].node, open[fd].type, to) : ERRNO.badf),
    fd_filestat_set_size(fd, size) {
      if (!isFile(fd)) return ERRNO.badf;
      grow(open[fd].node, Number(size));
      open[fd].node.size = Number(size);
      return ERRNO.ok;
    },
    fd_allocate(fd, offset, size) {
      if (!isFile(fd)) return ERRNO.badf;
      grow(open[fd].node, Number(offset + size));
      return ERRNO.ok;
    },
    fd_prestat_get(fd, to) {
      if (fd !== 3) return ERRNO.badf;
      view().setUint32(to, 0, true);
      view().setUint32(to + 4, 1, true);
      return ERRNO.ok;
    },
    fd_prestat_dir_name(fd, at) {
      bytes(at, 1)[0] = 0x2f;
      return ERRNO.ok;
    },
    fd_seek(fd, offset, whence, to) {
      if (!isFile(fd)) return ERRNO.badf;
      const file = open[fd], at = Number(offset) + [0, file.at, file.node.size][whence];
      if (at < 0) return ERRNO.inval;
      file.at = at;
      view().setBigUint64(to, BigInt(at), true);
      return ERRNO.ok;
    },
    fd_read(fd, vectors, count, to) {
      if (!known(fd) || open[fd].type === TYPE.folder) return known(fd) ? ERRNO.isdir : ERRNO.badf;
      const total = open[fd].type === TYPE.file ? readAt(open[fd], open[fd].at, vectors, count) : 0;
      open[fd].at += total;
      view().setUint32(to, total, true);
      return ERRNO.ok;
    },
    fd_pread(fd, vectors, count, offset, to) {
      if (!isFile(fd)) return ERRNO.badf;
      view().setUint32(to, readAt(open[fd], Number(offset), vectors, count), true);
      return ERRNO.ok;
    },
    fd_write(fd, vectors, count, to) {
      if (!known(fd) || open[fd].type === TYPE.folder) return ERRNO.badf;
      const file = open[fd];
      let total = 0;
      for (const from of pieces(vectors, count)) {
        if (file.type === TYPE.file) {
          if (file.append) file.at = file.node.size;
          grow(file.node, file.at + from.length);
          file.node.data.set(from, file.at);
          file.at += from.length;
          if (written) written(file.path, from);
        } else {
          output(fd, from.slice());
        }
        total += from.length;
      }
      view().setUint32(to, total, true);
      return ERRNO.ok;
    },
    fd_readdir(fd, to, room, cookie, used) {
      if (!known(fd) || open[fd].type !== TYPE.folder) return ERRNO.notdir;
      const names = files.children(open[fd].path);
      let at = 0;
      for (let i = Number(cookie); i < names.length && at < room; i++) {
        const node = files.nodes.get(names[i]), name = new TextEncoder().encode(names[i].slice(names[i].lastIndexOf("/") + 1));
        const entry = new Uint8Array(24 + name.length), head = new DataView(entry.buffer);
        head.setBigUint64(0, BigInt(i + 1), true);
        head.setBigUint64(8, node.ino, true);
        head.setUint32(16, name.length, true);
        head.setUint8(20, typeOf(node));
        entry.set(name, 24);
        const part = entry.subarray(0, Math.min(entry.length, room - at));
        bytes(to + at, part.length).set(part);
        at += part.length;
      }
      view().setUint32(used, at, true);
      return ERRNO.ok;
    },

    path_open(fd, follow, at, size, how, rights, inherited, flags, to) {
      const path = pathOf(fd, at, size), create = how & 1, folder = how & 2, exclusive = how & 4, empty = how & 8;
      let node = files.nodes.get(path);
      if (node && create && exclusive) return ERRNO.exist;
      if (node && folder && node.data) return ERRNO.notdir;
      if (node && !node.data && (create || empty)) return ERRNO.isdir;
      const above = files.nodes.get(Files.parent(path));
      if (!node && (!create || !above || above.data)) return above && above.data ? ERRNO.notdir : ERRNO.noent;
      node = node || files.make(path, new Uint8Array(0));
      if (empty) node.size = 0;
      let number = 4;
      while (known(number)) number++;
      open[number] = { type: typeOf(node), path, node, at: 0, append: flags & 1 };
      view().setUint32(to, number, true);
      return ERRNO.ok;
    },
    path_filestat_get(fd, follow, at, size, to) {
      const node = files.nodes.get(pathOf(fd, at, size));
      return node ? stat(node, typeOf(node), to) : ERRNO.noent;
    },
    path_create_directory(fd, at, size) {
      const path = pathOf(fd, at, size);
      if (files.nodes.has(path)) return ERRNO.exist;
      if (!files.nodes.has(Files.parent(path))) return ERRNO.noent;
      files.make(path, null);
      return ERRNO.ok;
    },
    path_rename(fd, at, size, other, toAt, toSize) {
      const from = pathOf(fd, at, size), to = pathOf(other, toAt, toSize);
      if (!files.nodes.has(from)) return ERRNO.noent;
      if (from !== to) files.rename(from, to);
      return ERRNO.ok;
    },
    path_unlink_file(fd, at, size) {
      const path = pathOf(fd, at, size), node = files.nodes.get(path);
      if (!node) return ERRNO.noent;
      if (!node.data) return ERRNO.isdir;
      files.nodes.delete(path);
      return ERRNO.ok;
    },
    path_remove_directory(fd, at, size) {
      const path = pathOf(fd, at, size), node = files.nodes.get(path);
      if (!node) return ERRNO.noent;
      if (node.data) return ERRNO.notdir;
      if (files.children(path).length) return ERRNO.notempty;
      files.nodes.delete(path);
      return ERRNO.ok;
    },
    path_readlink: () => ERRNO.inval,
  };
  // All other calls are refused with an error number.
  const imports = new Proxy(system, { get: (calls, name) => calls[name] || (() => ERRNO.nosys), has: () => true });
  return {
    imports: { wasi_snapshot_preview1: imports },
    run(instance) {
      memory = instance.exports.memory;
      try {
        instance.exports._start();
        return 0;
      } catch (end) {
        if (end instanceof Exit) return end.code;
        throw end;
      }
    },
  };
}

// Runs the command once. Returns its status and what it printed; with files in memory as it left them.
function runCommand(module, words, files, { progress, written } = {}) {
  const printed = ["", "", ""], decoder = [0, 1, 2].map(() => new TextDecoder());
  const output = (number, data) => {
    const text = decoder[number].decode(data, { stream: true });
    printed[number] += text;
    if (progress) progress(number, text);
  };
  const system = wasi({ args: ["unroll", ...words], env: ["UNROLL_CACHE=off"], files, output, written });
  const status = system.run(new WebAssembly.Instance(module, system.imports));
  return { status, output: printed[1], errors: printed[2] };
}

if (typeof module !== "undefined") module.exports = { Files, runCommand };
