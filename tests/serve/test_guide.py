"""The page docs/howto/serving.md as its readers use it: commands print what the page shows but for numbers, and the systemd
unit, the proxy, the job of Prometheus and the board of Grafana work. Usage: test_guide.py COMMAND"""
# test: args=$B/unroll; seconds=20; if=curl
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
from client import LIMIT, Server, WebSocket, check, finish, needs_server, wait_for, write_sound

root = os.path.join(here, "..", "..")
binary = os.path.abspath(sys.argv[1])
page = open(os.path.join(root, "docs/howto/serving.md")).read()
blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.S)
work, skipped = tempfile.mkdtemp(), 0


def block(with_text):
    return next(text for _, text in blocks if with_text in text)


def train():
    """The model of text is so large that no processor steps it within the microsecond that the page gives it."""
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.:;'`()/]}{-\n"
    with open(os.path.join(work, "book.txt"), "w") as file:
        file.write(letters + "".join(draw.choice(letters) for _ in range(3000)))
    with open(os.path.join(work, "names.csv"), "w") as file:
        file.write("name,kind\n" + "".join("%s,%s\n" % ("".join(draw.choice("abcd") for _ in range(6)), draw.choice(["red", "blue"])) for _ in range(80)))
    with open(os.path.join(work, "sales.csv"), "w") as file:
        file.write("t,sold,price\n" + "".join("%d,%.2f,%.2f\n" % (t, draw.uniform(50, 90), draw.uniform(1, 2)) for t in range(200)))
    for name, hz in (("low", 300), ("high", 1800), ("low", 310), ("high", 1700)):
        write_sound(os.path.join(work, f"tones/{name}/{hz}.wav"), 8000, [(hz, 0.3)], draw)
    shutil.copy(os.path.join(work, "tones/low/300.wav"), os.path.join(work, "tone.wav"))
    for words in (["tones", "--streaming", "--hidden", "8", "--val", "0", "--out", "runs/tones"], ["book.txt", "--hidden", "512", "--bptt", "16", "--batch", "4", "--out", "runs/book"], ["names.csv", "--target", "kind", "--hidden", "8", "--out", "runs/names"],
                  ["sales.csv", "--task", "forecast", "--target", "sold", "--horizon", "3", "--hidden", "8", "--out", "runs/sales"]):
        subprocess.run([binary, "train", *words, "--steps", "4", "--quiet"], cwd=work, check=True, capture_output=True)


def shape(text):
    """What does not depend on weights and machine: no numbers, generated texts, labels."""
    text = re.sub(r'"(text_output|label)\\?":\s*\\?"(\\.|[^"\\])*\\?"', r"\1", text)
    text = re.sub(r"\bavx\w+|\bamx\w*|\bneon\w*|\bscalar\b", "ISA", re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "N", text))
    return [line.strip().lower() for line in text.splitlines() if line.strip()]


def commands(server):
    """Each command of curl on the page, and the lines that the server prints."""
    shown = block("$ unroll serve runs/book runs/sales runs/names runs/tones").splitlines()[1:]
    printed = set(shape(server.text()))
    for line in shown:
        check(f"the server prints: {line[:60]}", shape(line)[0] in printed, server.text())
    done = 0
    for kind, text in blocks:
        command = re.match(r"\$ (curl .*)\n", text)
        if kind != "console" or not command:
            continue
        given = re.sub(r"localhost:8000", f"localhost:{server.port}", command[1])
        got = subprocess.run(["bash", "-c", given], cwd=work, capture_output=True, text=True, timeout=LIMIT).stdout
        check(given[:90], sorted(shape(got)) == sorted(shape(text[command.end():])), (shape(got), shape(text[command.end():])))
        done += 1
    check("the page has commands", done >= 5, done)


def board(server):
    """Each metric of the board is exported; the job is one of Prometheus."""
    exported = set(re.findall(r"^(unroll_\w+)", server.ask("/metrics")[1].decode(), re.M))
    with open(os.path.join(root, "extensions/serve/grafana.json")) as file:
        panels = json.load(file)["panels"]
    used = set(re.findall(r"unroll_\w+", " ".join(target["expr"] for panel in panels for target in panel["targets"])))
    check("the board shows metrics that are exported", used and used <= exported, used - exported)
    if tool("promtool"):
        with open(os.path.join(work, "prometheus.yml"), "w") as file:
            file.write(block("scrape_configs:"))
        done = subprocess.run(["promtool", "check", "config", "prometheus.yml"], cwd=work, capture_output=True, text=True)
        check("the job of Prometheus", done.returncode == 0, done)


def tool(name):
    global skipped
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    skipped += not found
    return found


def unit():
    if not tool("systemd-analyze"):
        return
    with open(os.path.join(work, "unroll.service"), "w") as file:
        file.write(block("[Unit]").replace("/usr/local/bin/unroll", binary))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "./unroll.service"], cwd=work, capture_output=True, text=True)
    check("the unit of systemd", done.returncode == 0 and "unroll.service" not in done.stderr, done)


def proxy(server):
    """WebSockets and events through nginx."""
    nginx = tool("nginx")
    if not nginx:
        return
    location = block("proxy_pass").replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
    os.mkdir(os.path.join(work, "temp"))
    paths = "".join(f"{name}_temp_path temp;\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(os.path.join(work, "nginx.conf"), "w") as file:
        file.write(f"daemon off; pid nginx.pid; error_log nginx.log;\nevents {{ }}\nhttp {{\naccess_log off;\n{paths}server {{ listen 127.0.0.2:{server.port};\n{location}}}\n}}\n")
    running = subprocess.Popen([nginx, "-p", work, "-c", "nginx.conf"], stderr=subprocess.DEVNULL)

    class Proxy(Server):
        host = "127.0.0.2"                              # where no other program has this port

        def __init__(self):
            self.port, self.context, self.headers = server.port, None, {}

    def answers():
        try:
            return Proxy().ask("/v2/health/live")[0] == 200
        except OSError:
            return running.poll() is not None
    try:
        wait_for(answers)
        check("nginx runs", running.poll() is None)
        web = WebSocket(Proxy(), "sales")
        width = next(x["shape"][1] for x in server.ask("/v2/models/sales")[1]["inputs"] if x["name"] == "input")
        outputs = next(x["shape"][1] for x in server.ask("/v2/models/sales")[1]["outputs"] if x["name"] == "output")
        check("a WebSocket through the proxy", web.step(1, [(1, 3, bytes(4 * width))], outputs, 10 ** 9)[1][0] == 0)
        events = Proxy().ask("/v2/models/book/generate_stream", {"text_input": "The", "max_tokens": 20})
        check("events through the proxy", events[0] == 200 and events[1].endswith(b"data: [DONE]\n\n"), events)
    finally:
        running.terminate()
        running.wait()


needs_server(binary, "guide")
try:
    train()
    with Server(binary, "runs/book", "runs/sales", "runs/names", "runs/tones", "--deadline", "10ms", "--log", "access.log", folder=work) as server:
        commands(server)
        board(server)
        unit()
        proxy(server)
        names = list(json.loads(block('"peer":')))
        logged = wait_for(lambda: open(os.path.join(work, "access.log")).read().splitlines())
        check("the log has the fields of the page", list(json.loads(logged[0])) == names, logged)
    finish("guide", skipped)
finally:
    shutil.rmtree(work, ignore_errors=True)
