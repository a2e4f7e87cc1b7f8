"""`unroll serve --standby`: the first server is killed in the middle of a load, clients continue on the second, and each
session has the bits of its own stream. Usage: test_standby.py COMMAND"""
# test: kinds=plain,memory; args=$B/unroll; seconds=30
import os
import random
import shutil
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import LIMIT, Server, WebSocket, check, finish, free_port, needs_server, wait_for

binary = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
START, END, SESSIONS, STEPS, CLIENTS = 1, 2, 12, 40, 3


def run(*words, **more):
    return subprocess.run([binary, *words], cwd=work, capture_output=True, check=True, **more).stdout


def make_model():
    draw = random.Random(1)
    with open(os.path.join(work, "rows.csv"), "w") as file:
        file.write("t,sold,price\n" + "".join("%d,%.2f,%.2f\n" % (t, draw.uniform(50, 90), draw.uniform(1, 2)) for t in range(200)))
    for name, seed in (("sales", "1"), ("other", "2")):
        run("train", "rows.csv", "--task", "forecast", "--target", "sold", "--horizon", "3", "--hidden", "16", "--steps", "3",
            "--seed", seed, "--quiet", "--out", name)


def references(width):
    """Frames of each session, and what `unroll stream` makes of them."""
    draw, frames, outputs = random.Random(7), [], []
    for _ in range(SESSIONS):
        rows = [struct.pack(f"<{width}f", *[draw.uniform(0, 100) for _ in range(width)]) for _ in range(STEPS)]
        raw = run("stream", "sales", "--write", "f32", input="".join(
            ",".join(map(repr, struct.unpack(f"<{width}f", row))) + "\n" for row in rows).encode())
        size = len(raw) // STEPS
        frames.append(rows)
        outputs.append([raw[i:i + size] for i in range(0, len(raw), size)])
    return frames, outputs


class Client:
    """Steps some sessions, each step counted; if the server is gone it repeats the step on the other one."""

    def __init__(self, servers, sessions, frames, outputs, slow):
        self.servers, self.sessions, self.frames, self.outputs, self.slow = servers, sessions, frames, outputs, slow
        self.at, self.wrong, self.moves, self.now, self.gaps = 0, [], 0, 0, []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def answer(self, web, number):
        last = number == STEPS
        return web.step(number, [(s, (START if number == 1 else 0) | (END if last else 0), self.frames[s][number - 1], number)
                                 for s in self.sessions], len(self.outputs[0][0]) // 4, deadline=10 ** 9)

    def run(self):
        web = WebSocket(self.servers[0], "sales")
        for number in range(1, STEPS + 1):
            broke = None
            while True:
                try:
                    web = web or WebSocket(self.servers[self.now], "sales")
                    got = self.answer(web, number)
                    break
                except OSError:
                    if broke is None:
                        broke, self.moves, self.now = time.monotonic(), self.moves + 1, 1 - self.now
                    web = None
                    if time.monotonic() - broke > 60:
                        self.wrong.append("no server")
                        return
            if broke is not None:
                self.gaps.append(time.monotonic() - broke)
            self.wrong += [(s, number, got[s][0]) for s in self.sessions if got[s] != (0, self.outputs[s][number - 1])]
            self.at = number
            if not self.slow.is_set():
                time.sleep(0.005)
        web.close()


def fail_over(frames, outputs, number):
    """Kills the first server once all clients have done some steps. Returns None if the machine was so busy that the
    standby counted as lost before."""
    second = Server(binary, "sales", "--sessions", str(SESSIONS), folder=work)
    first = Server(binary, "sales", "--sessions", str(SESSIONS), "--standby", f"http://127.0.0.1:{second.port}", folder=work)
    with first, second:
        check("the second server is there", wait_for(lambda: first.metric("standby_connected") == 1), first.text())
        fast = threading.Event()
        clients = [Client((first, second), range(i, SESSIONS, CLIENTS), frames, outputs, fast) for i in range(CLIENTS)]
        wait_for(lambda: min(one.at for one in clients) >= 3 + 5 * number)
        first.stop(signal.SIGKILL)
        for one in clients:
            one.thread.join()
        if "note: no standby" in first.text():
            return None
        check("each client moved once", [one.moves for one in clients] == [1] * CLIENTS, [one.moves for one in clients])
        check("all outputs are those of a stream", not any(one.wrong for one in clients), [one.wrong[:5] for one in clients])
        first = Server(binary, "sales", "--standby", f"http://127.0.0.1:{second.port}", folder=work)
        wait_for(lambda: first.metric("standby_connected") == 1)
        check("a server with a standby ends in order", first.stop() == 0, first.text())
        return max(sum(one.gaps) for one in clients)


def counted(server, values, **more):
    return server.infer("sales", "input", values, [1, len(values)], timeout=10 ** 9, **more)


def repeats(server, width):
    """Counted steps: the newest one can be repeated, others are refused."""
    step = [0.5] * width
    outputs = [counted(server, step, sequence_id=5, sequence_start=n == 1, sequence_step=n) for n in (1, 2, 3)]
    check("counted steps", all(status == 200 for status, _, _ in outputs), outputs)
    again = counted(server, step, sequence_id=5, sequence_step=3)
    check("a repeated step has the same outputs", again[1] == outputs[2][1], again)
    for number in (2, 5):
        refused = counted(server, step, sequence_id=5, sequence_step=number)
        check(f"step {number} after step 3 is refused", refused[0] == 409 and "sequence_step" in refused[1]["error"], refused)
    check("step 0 is refused", counted(server, step, sequence_id=5, sequence_step=0)[0] == 400)
    check("a first step 2 is refused", counted(server, step, sequence_id=6, sequence_start=True, sequence_step=2)[0] == 409)
    check("the session continues", counted(server, step, sequence_id=5, sequence_step=4, sequence_end=True)[0] == 200)


def late_standby(frames, outputs):
    """A standby that comes later gets what there is; without it, and while it hangs, clients are served."""
    port = free_port()
    with Server(binary, "sales", "other", "--standby", f"http://127.0.0.1:{port}", folder=work) as first:
        width = len(outputs[0][0]) // 4
        web = WebSocket(first, "sales")
        got = web.step(1, [(s, START, frames[s][0], 1) for s in range(SESSIONS)], width, 10 ** 9)
        check("without a standby clients are served", all(status == 0 for status, _ in got.values()), got)
        check("and a note is printed", wait_for(lambda: "note: no standby at 127.0.0.1" in first.text()), first.text())
        with Server(binary, "sales", "--port", str(port), folder=work) as second:
            check("it comes later", wait_for(lambda: first.metric("standby_connected") == 1), first.text())
            check("and gets all sessions", wait_for(lambda: second.metric("sessions_in_use", "sales") == SESSIONS))
            other = WebSocket(first, "other")
            other.step(1, [(1, START, frames[0][0])], width, 10 ** 9)
            check("a model that it has not", wait_for(lambda: "cannot keep sessions of 'other'" in first.text()), first.text())
            second.process.send_signal(signal.SIGSTOP)
            begin = time.monotonic()
            got = web.step(2, [(s, 0, frames[s][1], 2) for s in range(SESSIONS)], width, 10 ** 9)
            check("answers wait for the standby", time.monotonic() - begin > 0.5)
            check("while it hangs clients are served", got == {s: (0, outputs[s][1]) for s in range(SESSIONS)}, got)
            second.process.send_signal(signal.SIGCONT)
            check("it is connected again", wait_for(lambda: first.metric("standby_connected") == 1 and
                                                    first.metric("standby_lost_total") >= 1), first.text())
            web.step(3, [(s, 0, frames[s][2], 3) for s in range(SESSIONS)], width, 10 ** 9)
            first.process.kill()
            web = WebSocket(second, "sales")
            got = web.step(3, [(s, 0, frames[s][2], 3) for s in range(SESSIONS)], width, 10 ** 9)
            check("it repeats a step whose answer was lost", got == {s: (0, outputs[s][2]) for s in range(SESSIONS)}, got)
            got = web.step(4, [(s, END, frames[s][3], 4) for s in range(SESSIONS)], width, 10 ** 9)
            check("and has the newest states", got == {s: (0, outputs[s][3]) for s in range(SESSIONS)}, got)
            bad = WebSocket(second, "sales", path="/v2/standby")
            bad.send(b"\1" * 99)
            try:
                check("nonsense ends the connection", bad.receive()[:1] == b"" or False)
            except OSError:
                check("nonsense ends the connection", True)
            check("and nothing else", second.ask("/v2")[0] == 200)


def make_certificate(name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"], cwd=work, capture_output=True, check=True)
    return ["--certificate", f"{name}.pem", "--private-key", f"{name}.key"]


def encrypted(frames, outputs):
    """The same over TLS, with a token. Servers of another token or certificate get no sessions."""
    width, token = len(outputs[0][0]) // 4, "0123456789abcdef"
    for name, text in (("token", token), ("other", token[::-1])):
        with open(os.path.join(work, name + ".txt"), "w") as file:
            file.write(text + "\n")
    tls, strange = make_certificate("ours"), make_certificate("strange")
    context = ssl.create_default_context(cafile=os.path.join(work, "ours.pem"))
    unchecked = ssl._create_unverified_context()

    def server(*words, token_file="token.txt", context=context, token=token):
        return Server(binary, "sales", "--token", token_file, *words, folder=work, context=context, headers={"Authorization": f"Bearer {token}"})
    with server(*tls) as second, server(*tls, "--standby", f"https://127.0.0.1:{second.port}") as first:
        check("linked over TLS", wait_for(lambda: first.metric("standby_connected") == 1), first.text())
        web = WebSocket(first, "sales")
        for n in (1, 2):
            got = web.step(n, [(s, START if n == 1 else 0, frames[s][n - 1], n) for s in range(SESSIONS)], width, 10 ** 9)
        check("outputs over TLS", got == {s: (0, outputs[s][1]) for s in range(SESSIONS)}, got)
        check("the states arrive over TLS", wait_for(lambda: second.metric("sessions_in_use", "sales") == SESSIONS))
        first.stop(signal.SIGKILL)
        if "note: no standby" not in first.text():      # else the machine was too busy, and the newest states may be missing
            web = WebSocket(second, "sales")
            got = web.step(3, [(s, 0, frames[s][2], 3) for s in range(SESSIONS)], width, 10 ** 9)
            check("the second server continues over TLS", got == {s: (0, outputs[s][2]) for s in range(SESSIONS)}, got)
    for what, words, more in (("another token", tls, {"token_file": "other.txt", "token": token[::-1]}),
                              ("a certificate that is not trusted", strange, {"context": unchecked})):
        with server(*words, **more) as second, server(*tls, "--standby", f"https://127.0.0.1:{second.port}") as first:
            check(f"a standby with {what} is refused", wait_for(lambda: "note: no standby at 127.0.0.1" in first.text()), first.text())
            WebSocket(first, "sales").step(1, [(1, START, frames[0][0], 1)], width, 10 ** 9)
            check(f"and gets nothing: {what}", second.metric("sessions_in_use", "sales") == 0 and first.metric("standby_connected") == 0)


def main():
    needs_server(binary, "standby")
    make_model()
    with Server(binary, "sales", folder=work) as server:
        width = next(x["shape"][1] for x in server.ask("/v2/models/sales")[1]["inputs"] if x["name"] == "input")
        repeats(server, width)
    frames, outputs = references(width)
    gaps = [next((gap for gap in (fail_over(frames, outputs, number) for _ in range(20)) if gap is not None), None) for number in range(5)]
    check("the standby is there in the end", None not in gaps, gaps)
    print("seconds from the kill to the first answer of the standby: " + ", ".join(f"{gap:.3f}" for gap in gaps if gap is not None))
    late_standby(frames, outputs)
    if shutil.which("openssl"):
        encrypted(frames, outputs)
    for url in ("here", "http://x", "http://:1", "http://x:0", "ftp://x:1"):
        done = subprocess.run([binary, "serve", "sales", "--port", "0", "--standby", url], cwd=work, capture_output=True, text=True, timeout=LIMIT)
        check(f"--standby {url}", done.returncode == 2 and "fix: " in done.stderr, done)
    finish("standby")


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
