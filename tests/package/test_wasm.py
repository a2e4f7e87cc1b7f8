"""The command in a browser (`make wasm`) in Chromium without a screen: training has the bits of the ordinary command, and
the page trains, draws a forecast, writes a text, shows errors, and gives the model away.
Usage: test_wasm.py COMMAND BUILD [FOLDER]; FOLDER: screenshots are written there."""
# test: kinds=long-plain; args=$B/unroll $B; seconds=600
import base64
import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

root = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(root, "tests", "serve"))
from browser import Browser, executable
from client import check, finish

binary, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
pictures = sys.argv[3] if len(sys.argv) > 3 else None
BASE64 = """async url => { const data = new Uint8Array(await (await fetch(url)).arrayBuffer());
    return btoa(Array.from(data, byte => String.fromCharCode(byte)).join("")); }"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def native(work, *words):
    return subprocess.run([binary, *words], cwd=work, capture_output=True, text=True)


def skip(reason):
    print(f"skipped: wasm: {reason}\nwasm: 0 passed, 0 failed, 1 skipped")
    sys.exit(0)


def build_page():
    made = subprocess.run([os.path.join(root, "tools", "wasm.sh"), build], capture_output=True, text=True)
    if made.returncode == 4:
        skip(made.stderr.strip())
    check("it is built", made.returncode == 0, made.stderr[-500:])
    folder = os.path.join(build, "demo")
    check("it has less than 4 MB", os.path.getsize(os.path.join(folder, "unroll.wasm")) < 4_000_000)
    return folder


def same_bits(page, work):
    """Trains a forecast and a classifier of texts for 50 updates on both sides."""
    with open(os.path.join(work, "mood.csv"), "w") as file:
        file.write("text,mood\n" + "".join(f"what a {a} {b} day,{c}\n" for a in ("very", "most", "rather", "truly", "quite") * 8
                                           for b, c in (("sunny", "glad"), ("grim", "sad"))))
    subprocess.run(["cp", os.path.join(root, "examples", "data", "co2.csv"), work], check=True)
    for name, more in ("co2.csv", ["--cell", "lstm"]), ("mood.csv", ["--target", "mood"]):
        words = ["train", name, "--steps", "50", "--hidden", "16", "--seed", "3", "--quiet", *more]
        here = native(work, *words, "--isa", "scalar", "--out", f"usual-{name}")
        check(f"{name} is trained", here.returncode == 0, here.stderr)
        with open(os.path.join(work, name), "rb") as file:
            given = json.dumps([name, base64.b64encode(file.read()).decode()])
        got = page.ask(f"""(async ([name, data]) => {{
            const run = await command({json.dumps(words + ["--out", "run"])}, [[name, Uint8Array.from(atob(data), c => c.charCodeAt(0))]], ["run/model.safetensors"]);
            return [run.status, run.errors, await ({BASE64})(URL.createObjectURL(new Blob([run.files[0][1] || ""])))];
        }})({given})""")
        check(f"{name} is trained in the browser", got and got[0] == 0, got and got[1])
        with open(os.path.join(work, f"usual-{name}", "model.safetensors"), "rb") as file:
            check(f"{name}: the same bytes", file.read() == base64.b64decode(got[2]))


def press_train(page, example, options):
    page.ask(f"document.querySelector('#{example}').click(); document.querySelector('#options').value = '{options}';"
             "document.querySelector('#train').click()")
    done = page.until("!document.querySelector('#train').disabled")
    check(f"{example} is trained", done and page.ask("document.body.dataset.done"), page.ask("document.querySelector('#log').textContent"))


def save_files(page, work, folder):
    """The data and the model of the page, for the ordinary command."""
    os.makedirs(os.path.join(work, folder))
    for name, url in ("data", "URL.createObjectURL(new Blob([chosen.data]))"), ("model.safetensors", "document.querySelector('#download').href"):
        with open(os.path.join(work, folder, name), "wb") as file:
            file.write(base64.b64decode(page.ask(f"({BASE64})({url})")))
    return os.path.join(work, folder)


def use(page, work):
    press_train(page, "series", "--steps 60 --hidden 16 --lr 0.01")
    log = page.ask("document.querySelector('#log').textContent")
    check("the log is that of the command", log.startswith("data: csv") and "undefined" not in log and "done: 60 steps" in log, log)
    check("the loss is drawn", page.ask("document.querySelector('#loss polyline').getAttribute('points').split(' ').length > 1"))
    check("a forecast is drawn", page.ask("document.querySelectorAll('#result svg polyline').length") == 2)
    drawn = page.ask("document.querySelectorAll('#result svg polyline')[1].getAttribute('points').split(' ').length - 1")
    check("with its interval", page.ask("document.querySelector('#result svg polygon').getAttribute('points').split(' ').length") == 2 * drawn)
    page.save(pictures, "browser-forecast.png")
    place = save_files(page, work, "series")
    os.rename(os.path.join(place, "data"), os.path.join(place, "series.csv"))
    here = native(place, "predict", "model.safetensors", "series.csv")
    check("the command loads the model", here.returncode == 0 and len(here.stdout.split("\n")) == drawn + 2, here.stderr)
    there = page.ask("(async () => (await command(['predict', 'model.safetensors', 'series.csv'], [['series.csv', chosen.data], ['model.safetensors',"
                     "new Uint8Array(await (await fetch(document.querySelector('#download').href)).arrayBuffer())]])).output)()")
    check("with the same predictions", here.stdout == there, there)
    press_train(page, "prose", "--steps 20 --hidden 24")
    text = page.ask("document.querySelector('#text').textContent")
    here = native(save_files(page, work, "prose"), "sample", "model.safetensors", "--length", "400")
    check("a text is sampled, as by the command", len(text) > 300 and here.stdout == text, (text, here.stdout, here.stderr))
    page.ask("document.querySelector('#series').click(); document.querySelector('#options').value = '--target nothing'; document.querySelector('#train').click()")
    check("an error is shown with its fix", page.until("/fix: /.test(document.querySelector('#log .error')?.textContent)"))
    check("nothing was loaded from elsewhere", page.ask("performance.getEntriesByType('resource').every(r => /^(data|blob):/.test(r.name) || r.name.startsWith(location.origin))"))


def main():
    if not executable:
        skip("there is no chromium")
    folder = build_page()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = Browser(work)
        try:
            page.call("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/")
            check("the page is ready", page.until("typeof command === 'function' && compiled.then(() => true)"))
            same_bits(page, work)
            use(page, work)
        finally:
            page.end()
            server.shutdown()
    finish("wasm")


main()
