"""`unroll serve` as programs meet it: protocol, sessions and their bits, predictions and texts, bad input, overload,
reload and end. Usage: test_serve.py COMMAND"""
# test: kinds=plain,memory; args=$B/unroll; seconds=60
import json
import os
import random
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import LIMIT, Server, WebSocket, check, count, finish, needs_server, wait_for, write_sound

binary = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
START, END = 1, 2


def run(*words, **more):
    return subprocess.run([binary, *words], cwd=work, capture_output=True, check=True, **more).stdout


def write(name, text):
    with open(os.path.join(work, name), "w") as file:
        file.write(text)


def train():
    draw = random.Random(1)
    write("book.txt", "".join(draw.choice("abcd efgh\n") for _ in range(3000)))
    write("names.csv", "name,kind\n" + "".join(
        "%s,%s\n" % ("".join(draw.choice("abcd") for _ in range(6)), draw.choice(["red", "blue"])) for _ in range(80)))
    write("sales.csv", "t,sold,price\n" + "".join("%d,%.2f,%.2f\n" % (t, draw.uniform(50, 90), draw.uniform(1, 2)) for t in range(200)))
    run("train", "book.txt", "--hidden", "16", "--steps", "4", "--batch", "4", "--bptt", "16", "--quiet", "--out", "book")
    run("train", "names.csv", "--target", "kind", "--hidden", "8", "--steps", "4", "--quiet", "--out", "names")
    run("train", "sales.csv", "--task", "forecast", "--target", "sold", "--horizon", "3", "--hidden", "8", "--steps", "4",
        "--quiet", "--out", "sales")


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


class Reference:
    """Sequences of random frames, and what `unroll stream` makes of each."""

    def __init__(self, width, sessions, steps, outputs):
        draw = random.Random(7)
        self.frames = [[[struct.unpack("<f", floats([draw.uniform(0, 100)]))[0] for _ in range(width)] for _ in range(steps)]
                       for _ in range(sessions)]
        self.outputs, size = [], 4 * outputs
        for frames in self.frames:
            text = "".join(",".join(repr(x) for x in frame) + "\n" for frame in frames)
            raw = run("stream", "sales", "--write", "f32", input=text.encode())
            self.outputs.append([raw[i:i + size] for i in range(0, len(raw), size)])


def protocol(server):
    status, about, _ = server.ask("/v2")
    check("the server's name", status == 200 and about["name"] == "unroll" and "sequence" in about["extensions"], about)
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/book/ready", "/v2/models/book/versions/1/ready"):
        check(path, server.ask(path)[0] == 200)
    book, sales, names = (server.ask(f"/v2/models/{m}")[1] for m in ("book", "sales", "names"))
    check("the inputs of lm", [x["name"] for x in book["inputs"]] == ["tokens", "text"], book)
    check("the columns of a forecast", {"sold", "price", "t"} <= {x["name"] for x in sales["inputs"]}, sales)
    check("the target is no input of a classifier", [x["name"] for x in names["inputs"]] == ["name"], names)
    index = server.ask("/v2/repository/index", {})[1]
    check("the index", sorted((x["name"], x["state"]) for x in index) == [(m, "READY") for m in ("book", "names", "sales")], index)
    page = server.ask("/")
    check("the page has no external resource", page[0] == 200 and b"<html" in page[1] and b"http://" not in page[1].replace(b"http://www.w3.org", b"")
          and b"https://" not in page[1])
    check("why a model has no sessions", "'names' has no sessions: a bidirectional model cannot be streamed" in server.text())
    for path, status in (("/v2/models/none", 404), ("/v2/models/book/versions/9", 404), ("/v2/models/book/versions/x/ready", 404),
                         ("/nothing", 404), ("/v2/models/book/none", 404)):
        got = server.ask(path)
        check(f"{path} is {status}", got[0] == status and "fix: " in got[1]["error"], got)


def tensors(server, reference, width, outputs):
    """A whole sequence in one request has the bits of a stream, as JSON and as bytes, in and out."""
    frames, expected = reference.frames[0], b"".join(reference.outputs[0])
    status, body, _ = server.infer("sales", "input", frames, [len(frames), width])
    got = body["outputs"][0]
    check("JSON has the bits of a stream", status == 200 and got["shape"] == [len(frames), outputs] and
          floats(got["data"]) == expected, body)
    raw = b"".join(map(floats, frames))
    head = json.dumps({"id": "seven", "inputs": [{"name": "input", "shape": [len(frames), width], "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(raw)}}],
                       "outputs": [{"name": "output", "parameters": {"binary_data": True}}]}).encode()
    status, body, headers = server.ask("/v2/models/sales/infer", head + raw, {"Inference-Header-Content-Length": str(len(head))})
    size = int(headers["Inference-Header-Content-Length"])
    check("binary tensors have the bits of a stream", status == 200 and body[size:] == expected, body[:200])
    about = json.loads(body[:size])
    check("the answer has the id and the size", about["id"] == "seven" and
          about["outputs"][0]["parameters"]["binary_data_size"] == len(expected), about)


def sequences(server, reference, width, outputs):
    """Sessions in random order: over HTTP one by one, over WebSockets many at once, some in both."""
    draw, sessions, steps = random.Random(3), len(reference.frames), len(reference.frames[0])
    at, same, over = [0] * sessions, True, [server.connect() for _ in range(3)]
    sockets = [WebSocket(server, "sales") for _ in range(3)]
    number = 0
    while any(done < steps for done in at):
        ready = [s for s in range(sessions) if at[s] < steps]
        chosen = draw.sample(ready, draw.randint(1, len(ready)))
        if draw.random() < 0.5:
            for s in chosen[:3]:
                status, body, _ = server.infer("sales", "input", reference.frames[s][at[s]], [1, width], connection=over[s % 3],
                                               sequence_id=s + 1, sequence_start=at[s] == 0, sequence_end=at[s] == steps - 1)
                same &= status == 200 and floats(body["outputs"][0]["data"]) == reference.outputs[s][at[s]]
                at[s] += 1
            continue
        number += 1
        got = sockets[number % 3].step(number, [
            (s + 1, (START if at[s] == 0 else 0) | (END if at[s] == steps - 1 else 0), floats(reference.frames[s][at[s]])) for s in chosen], outputs)
        for s in chosen:
            same &= got[s + 1] == (0, reference.outputs[s][at[s]])
            at[s] += 1
    check("each session has the bits of its own stream", same)
    check("ended sessions are gone", server.metric("sessions_in_use", "sales") == 0)
    for one in over + sockets:
        one.close()


def jobs(server):
    rows = ["abcd", "ddda", "bb"]
    write("rows.csv", "name\n" + "\n".join(rows) + "\n")
    expected = run("predict", "names", "rows.csv", "--json").decode().splitlines()
    status, body, _ = server.infer("names", "name", rows, [3], "BYTES")
    check("predictions are those of the command", status == 200 and body["outputs"][0]["data"] == expected, body)
    table = [line.split(",") for line in open(os.path.join(work, "sales.csv")).read().splitlines()[1:]]
    status, body, _ = server.ask("/v2/models/sales/infer", {"inputs": [
        {"name": name, "shape": [len(table)], "datatype": "FP64", "data": [float(row[i]) for row in table]}
        for i, name in enumerate(("t", "sold", "price"))]})
    check("forecasts are those of the command", status == 200 and
          body["outputs"][0]["data"] == run("predict", "sales", "sales.csv", "--json").decode().splitlines(), body)
    words = {"text_input": "ab", "max_tokens": 40, "temperature": 0.8, "seed": 5}
    expected = run("sample", "book", "--prompt", "ab", "--length", "40", "--seed", "5").decode().rstrip("\n")[2:]
    status, body, _ = server.ask("/v2/models/book/generate", words)
    check("a text is that of the command", status == 200 and body["text_output"].rstrip("\n") == expected.rstrip("\n"), (body, expected))
    status, events, _ = server.ask("/v2/models/book/generate_stream", words)
    parts = [line[6:] for line in events.decode().split("\n") if line.startswith("data: ")]
    check("events are the same text", parts[-1] == "[DONE]" and
          "".join(json.loads(x)["text_output"] for x in parts[:-1]) == body["text_output"], events[:300])
    status, tensor, _ = server.infer("book", "text", ["ab"], [1], "BYTES", length=40, temperature=0.8, seed=5)
    check("a text as a tensor is the same", status == 200 and tensor["outputs"][0]["data"] == [body["text_output"]], tensor)
    status, body, _ = server.infer("names", "name", ["abcd", 3], [1, 2], "BYTES")
    check("predictions that the model refuses", status == 400 and "fix: " in body["error"], body)


def tokens_of_text(server):
    """A text as input, and logits as output."""
    wanted = [{"name": "logits"}]
    expected = server.infer("book", "tokens", [2, 3, 1], [3], "INT32")[1]      # characters are numbered in order: \n, blank, a, b
    status, body, _ = server.infer("book", "text", ["ab "], [1], "BYTES", outputs=wanted)
    check("the logits of a text are those of its tokens", status == 200 and body == expected, body)
    first = server.infer("book", "text", ["ab"], [1], "BYTES", outputs=wanted, sequence_id="t", sequence_start=True)
    second = server.infer("book", "text", [" "], [1], "BYTES", outputs=wanted, sequence_id="t", sequence_end=True)
    check("also in a sequence", first[1]["outputs"][0]["data"] + second[1]["outputs"][0]["data"] == expected["outputs"][0]["data"], second)
    for what, words, said in (("an unknown character", ["aXb"], "X"), ("no text", [""], "no bytes"), ("two texts", ["a", "b"], "BYTES element")):
        status, body, _ = server.infer("book", "text", words, [len(words)], "BYTES", outputs=wanted)
        check(f"logits of {what}", status == 400 and said in body["error"] and "fix: " in body["error"], body)


def limits(width, cost):
    """Processors, and what each model may use."""
    mine = sorted(os.sched_getaffinity(0))
    with Server(binary, "sales", "--cpus", f"{mine[0]}-{mine[0]},{mine[-1]}", "--threads", "2", folder=work) as server:
        threads = f"/proc/{server.process.pid}/task"
        def seen():
            return sorted(open(f"{threads}/{one}/status").read().split("Cpus_allowed_list:\t")[1].split()[0] for one in os.listdir(threads))
        check("--cpus pins threads", wait_for(lambda: seen() == sorted(map(str, [mine[0], mine[-1], mine[-1]]))), seen())
    share = min(0.5, max(0.001, 200 * cost))
    with Server(binary, "book", "sales", "--model-cpu", str(share), folder=work) as server:
        own = server.metric("step_seconds", "sales")
        steps = max(200, int(0.001 / own))              # they need a second or more
        begin = time.monotonic()
        status = server.infer("sales", "input", [1.0] * width * steps, [steps, width], timeout=10 ** 12)[0]
        took = time.monotonic() - begin
        check("--model-cpu makes steps wait", status == 200 and took > 0.5 * steps * own / share, (status, took, own))
        late = server.infer("sales", "input", [1.0] * width * steps, [steps, width], timeout=steps * own * 10 ** 6)
        check("and what cannot be done in that share is refused", late[0] == 503, late)
    with Server(binary, "book", "--model-cpu", "0.01", folder=work) as server:
        begin, used = time.monotonic(), 0
        for i in range(5):
            before, status = used, server.ask("/v2/models/book/generate", {"text_input": "a", "max_tokens": 500, "seed": i})[0]
            used = server.metric("job_seconds_total", "book")
            check("a text uses a processor", status == 200 and used > before, (status, before, used))
        took = time.monotonic() - begin
        check("--model-cpu makes texts wait", took > before / 0.01, (took, before))


def priorities(width, cost):
    """Requests that come later: a first priority is served at once, and a last one has its share. A batch takes a
    millisecond here, whatever the machine: 40 long requests would take 100 s."""
    share = min(1, max(0.001, 16 * cost / 0.001))
    for long, late in ((4, 1), (1, 4)):
        with Server(binary, "sales", "--model-cpu", str(share), folder=work) as server:
            raw = floats([1.0] * width * 40000)
            head = json.dumps({"inputs": [{"name": "input", "shape": [40000, width], "datatype": "FP32", "parameters": {"binary_data_size": len(raw)}}],
                               "parameters": {"priority": long, "timeout": 10 ** 11}}).encode()
            many = [socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) for _ in range(40)]
            for one in many:
                one.sendall(b"POST /v2/models/sales/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"
                            b"Inference-Header-Content-Length: %d\r\n\r\n" % (len(head) + len(raw), len(head)) + head + raw)
            check("all long requests wait", wait_for(lambda: server.metric("steps_waiting") == 40))
            status = server.infer("sales", "input", [1.0] * width * 10, [10, width], priority=late, timeout=10 ** 12)[0]
            answered = len(select.select(many, [], [], 0)[0])
            check(f"priority {late} after {long}", status == 200 and answered < 32, (status, answered))
            for one in many:
                one.close()


def bad_input(server, width, outputs):
    good = [1.0] * width

    def refused(what, status, got, *words):
        text = got[1].get("error", "") if isinstance(got[1], dict) else ""
        check(f"{what} is {status}", got[0] == status and "fix: " in text and all(w in text for w in words), got[:2])

    def body(**changes):
        tensor = {"name": "input", "shape": [1, width], "datatype": "FP32", "data": good} | changes
        return server.ask("/v2/models/sales/infer", {"inputs": [tensor]})

    refused("no JSON", 400, server.ask("/v2/models/sales/infer", "{"), "JSON")
    refused("no object", 400, server.ask("/v2/models/sales/infer", "[]"))
    refused("no inputs", 400, server.ask("/v2/models/sales/infer", {}), "inputs")
    refused("too few elements", 400, body(data=good[1:]), "elements")
    refused("a wrong shape", 400, body(shape=[width, 1]), "shape")
    refused("a huge shape", 400, body(shape=[2 ** 40, width]), "shape")
    refused("a negative shape", 400, body(shape=[-1, width]), "shape")
    refused("an unknown type", 400, body(datatype="FP1"), "datatype")
    refused("texts as numbers", 400, body(data=["x"] * width), "finite number")
    refused("NaN", 400, body(data=[None] + good[1:]), "finite number")
    refused("an infinite float", 400, body(data=[1e300] + good[1:]), "finite number")
    head = json.dumps({"inputs": [{"name": "input", "shape": [1, width], "datatype": "FP32", "parameters": {"binary_data_size": 4 * width}}]}).encode()
    for value in ("nan", "inf"):
        refused(f"{value} as bytes", 400, server.ask("/v2/models/sales/infer", head + floats([float(value)] + good[1:]),
                                                     {"Inference-Header-Content-Length": str(len(head))}), "finite number")
    refused("an unknown output", 400, server.infer("sales", "input", good, [1, width], outputs=[{"name": "z"}]), "output")
    refused("a token outside", 400, server.infer("book", "tokens", [99], [1], "INT32"), "token 0 is 99")
    refused("half a token", 400, server.infer("book", "tokens", [1.5], [1], "FP32"), "whole number")
    refused("a priority outside", 400, server.infer("sales", "input", good, [1, width], priority=9), "priority")
    refused("unequal columns", 400, server.ask("/v2/models/sales/infer", {"inputs": [
        {"name": n, "shape": [k], "datatype": "FP64", "data": [1.0] * k} for n, k in (("sold", 2), ("price", 3))]}), "rows")
    refused("no text to continue", 400, server.ask("/v2/models/book/generate", {"text": "a"}), "text_input")
    refused("a text from a classifier", 400, server.ask("/v2/models/names/generate", {"text_input": "a"}), "lm")
    refused("a length of words", 400, server.ask("/v2/models/book/generate", {"text_input": "a", "max_tokens": "many"}))
    refused("a header after the end", 400, server.ask("/v2/models/sales/infer", "{}", {"Inference-Header-Content-Length": "9"}))
    refused("compressed", 415, server.ask("/v2/models/sales/infer", "x", {"Content-Encoding": "gzip"}))
    refused("an oversized body", 413, server.ask("/v2/models/sales/infer", "x" * 300000))
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as one:
        one.sendall(b"POST /v2/models/sales/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        check("chunks are 411", b" 411 " in one.recv(4096))

    def step(**parameters):
        return server.infer("sales", "input", good, [1, width], **parameters)
    refused("an unknown session", 404, step(sequence_id=77), "77")
    check("a session begins", step(sequence_id="mine", sequence_start=True)[0] == 200)
    refused("a second start", 409, step(sequence_id="mine", sequence_start=True), "mine")
    check("and continues", step(sequence_id="mine", sequence_end=True)[0] == 200)
    refused("after its end", 404, step(sequence_id="mine"))
    late = server.infer("sales", "input", good * 1000, [1000, width], timeout=1)
    refused("a deadline that cannot be met", 503, late, "deadline")
    check("Retry-After", late[2].get("Retry-After", "").isdigit(), late[2])

    web, frame = WebSocket(server, "sales"), floats(good)
    got = web.step(1, [(5, 0, frame), (6, START, frame), (7, START, floats([float("nan")] + good[1:]))], outputs)
    check("states of frames: unknown, fine, invalid", [got[i][0] for i in (5, 6, 7)] == [1, 0, 3], got)
    check("a second start of a frame", web.step(2, [(6, START, frame)], outputs)[6][0] == 2)
    check("the session is still there", web.step(3, [(6, END, frame)], outputs)[6][0] == 0)
    web.send(b"abc")
    check("a message of a wrong length has no records", len(web.receive()) == 8)
    many = web.step(4, [(100 + i, START, frame) for i in range(20)], outputs)
    check("more sessions than slots are refused", sorted(status for status, _ in many.values()) == [0] * 16 + [4] * 4, many)
    refused("no slot is left", 503, step(), "sessions are in use")
    web.step(5, [(s, END, frame) for s, (status, _) in many.items() if status == 0], outputs)
    web.close()
    for model in ("names", "none"):
        try:
            WebSocket(server, model)
            check(f"a WebSocket of {model} is refused", False)
        except ConnectionError:
            check(f"a WebSocket of {model} is refused", True)


def rude_clients(server, width, outputs):
    """Connections that hang, break off or send nonsense do not disturb a session."""
    web, frame = WebSocket(server, "sales"), floats([1.0] * width)
    first = web.step(1, [(1, START, frame)], outputs)[1]
    rude = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
    for i, one in enumerate(rude):
        one.sendall([b"POST /v2/models/sales/infer HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{", b"GET / HTT", b"\x16\x03\x01\xff\xff" * 9,
                     b"GET /v2/models/sales/stream HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"][i % 4])
    broken = [WebSocket(server, "sales") for _ in range(5)]
    for i, one in enumerate(broken):
        one.socket.sendall(b"\x82\xfe\xff\xff\0\0\0\0" + b"x" * (i * 100))      # half a message
        one.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
    second = web.step(2, [(1, 0, frame)], outputs)[1]
    check("a healthy session steps on", first[0] == second[0] == 0 and first != second)
    alone = b"".join(run("stream", "sales", "--write", "f32", input=(",".join(["1.0"] * width) + "\n").encode() * 2)[i:] for i in [0])
    check("with the bits of its stream", first[1] + second[1] == alone)
    web.step(3, [(1, END, frame)], outputs)
    for one in rude:
        one.close()
    web.close()


class Slow:
    """Clients that send a byte every half second, or nothing more: each is closed, and none keeps others waiting."""

    def __init__(self, server):
        post = b"POST /v2/models/sales/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{"
        begins = {"a slow header": b"GET /v2 HT", "a slow body": post, "a header that stops": b"GET /v2 HTTP/1.1\r\nHo", "a body that stops": post,
                  "an upgrade that stops": b"GET /v2/models/sales/stream HTTP/1.1\r\nUpgrade: websocket\r\n"}
        self.open, self.done = {}, threading.Event()
        for what, begin in begins.items():
            self.open[what] = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT)
            self.open[what].sendall(begin)
        self.thread = threading.Thread(target=self.drip)
        self.thread.start()

    def drip(self):
        while not self.done.wait(0.5):
            for what in ("a slow header", "a slow body"):
                try:
                    self.open[what].send(b"x")
                except OSError:                         # it is closed
                    pass

    def finish(self):
        for what, one in self.open.items():
            try:
                while one.recv(4096):
                    pass
                closed = True
            except ConnectionError:
                closed = True
            except OSError:
                closed = False
            check(f"{what} is closed", closed)
        self.done.set()
        self.thread.join()
        for one in self.open.values():
            one.close()


def half_open(server):
    """A client that has closed its side gets its answer, or nothing if the request is not whole."""
    for request, expected in ((b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 200"), (b"GET /v2/hea", b"")):
        with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as one:
            one.sendall(request)
            one.shutdown(socket.SHUT_WR)
            got = one.recv(4096)
            check(f"half open after {len(request)} bytes", got.startswith(expected) and bool(got) == bool(expected), got)


def idle_connections():
    """Connections that send nothing do not keep others out; beyond the limit new ones are closed."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    many = 10000 if limit == resource.RLIM_INFINITY or limit >= 11000 else 1200
    if many == 1200 and limit < 2000:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (many + 800, limit))
    with Server(binary, "sales", "--connections", str(many + 100), folder=work) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(many)]
        check(f"with {many} idle connections a request is answered", server.ask("/v2")[0] == 200)
        idle += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(110)]
        idle[-1].settimeout(LIMIT)
        try:
            closed = idle[-1].recv(1) == b""
        except ConnectionError:
            closed = True
        check("beyond the limit it is closed at once", closed)
        for one in idle:
            one.close()

        def has_room():
            try:
                return server.metric("connections") < 10
            except ConnectionError:                     # it still counts those that were closed
                return False
        check("afterwards there is room", wait_for(has_room))


def options():
    """Tokens, TLS, logs, idle sessions, ports, reload, drain."""
    write("token", "0123456789abcdef\n")
    with Server(binary, "sales", "--token", "token", "--log", "access.log", "--idle", "1", folder=work) as server:
        bearer = {"Authorization": "Bearer 0123456789abcdef"}
        check("without a token", server.ask("/v2")[0] == 401)
        check("with a wrong token", server.ask("/v2", headers={"Authorization": "Bearer 0123456789abcdeg"})[0] == 401)
        check("with a longer token", server.ask("/v2", headers={"Authorization": "Bearer 0123456789abcdef0"})[0] == 401)
        check("with the token", server.ask("/v2", headers=bearer)[0] == 200)
        check("health needs no token", server.ask("/v2/health/live")[0] == 200)
        try:
            WebSocket(server, "sales")
            check("a WebSocket needs the token", False)
        except ConnectionError:
            check("a WebSocket needs the token", True)
        width = next(x["shape"][1] for x in server.ask("/v2/models/sales", headers=bearer)[1]["inputs"] if x["name"] == "input")
        server.ask("/v2/models/sales/infer", {"inputs": [{"name": "input", "shape": [1, width], "datatype": "FP32", "data": [1.0] * width}],
                                              "parameters": {"sequence_id": 3, "sequence_start": True}}, bearer)
        check("an idle session ends", wait_for(lambda: "sessions_expired_total{model=\"sales\",version=\"1\"} 1" in
                                               server.ask("/metrics", headers=bearer)[1].decode()))
        lines = wait_for(lambda: open(os.path.join(work, "access.log")).read().splitlines())
        check("the access log has each answer", [(x["request"], x["status"]) for x in map(json.loads, lines)][3:5] ==
              [("/v2", 200), ("/v2/health/live", 200)] and json.loads(lines[0])["status"] == 401, lines)
        write("sales2", "")
        server.process.send_signal(signal.SIGHUP)
        found = wait_for(lambda: server.ask("/v2/models/sales", headers=bearer)[1]["versions"] == ["2"])
        check("SIGHUP makes a new version", found, server.text())
        taken = subprocess.run([binary, "serve", "sales", "--port", str(server.port)], cwd=work, capture_output=True, text=True, timeout=LIMIT)
        check("a port in use", taken.returncode == 5 and "cannot listen" in taken.stderr and "fix: " in taken.stderr, taken)
        check("it ends in order", server.stop() == 0, server.text())
    with Server(binary, "sales", "--log", "/dev/full", folder=work) as server:
        server.infer("sales", "input", [1.0] * width, [1, width])
        check("a full disk is said", wait_for(lambda: "the access log cannot be written" in server.text()), server.text())
        check("and requests are served", server.infer("sales", "input", [1.0] * width, [1, width])[0] == 200)
    vector = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors", "import", "tagger.safetensors")
    run("import", vector, "-o", "tagger.safetensors")
    done = subprocess.run([binary, "serve", "tagger.safetensors"], cwd=work, capture_output=True, text=True, timeout=LIMIT)
    check("a model that can do nothing here", done.returncode != 0 and "can neither be streamed nor predict" in done.stderr and
          "bidirectional" in done.stderr and "fix: " in done.stderr, done)
    for words in (["none"], ["sales", "--certificate", "token"], ["sales", "--host", "nowhere"],
                  ["sales", "--cpus", "0-"], ["sales", "--cpus", "1023"], ["sales", "--cpus", "0;1"], ["sales", "--model-memory", "1K"],
                  ["sales", "--token", "names.csv"], ["sales", "--certificate", "token", "--private-key", "token"]):
        done = subprocess.run([binary, "serve", *words], cwd=work, capture_output=True, text=True, timeout=LIMIT)
        check(f"serve {' '.join(words)}", done.returncode != 0 and "fix: " in done.stderr, done)


def versions(server, width, outputs):
    """Sessions stay with the version they began with; it goes when they end."""
    web, frame = WebSocket(server, "sales"), floats([1.0] * width)
    web.step(1, [(1, START, frame)], outputs)
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: server.ask("/v2/models/sales")[1]["versions"] == ["2"])
    check("the old version serves its session", web.step(2, [(1, END, frame)], outputs)[1][0] == 0)
    web.close()
    gone = wait_for(lambda: [x["version"] for x in server.ask("/v2/repository/index", {})[1] if x["name"] == "sales"] == ["2"])
    check("and goes with it", gone, server.ask("/v2/repository/index", {}))


def tls():
    if not shutil.which("openssl"):
        return
    import ssl
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "good.key", "-out", "good.pem",
                    "-days", "2", "-subj", "/CN=localhost"], cwd=work, capture_output=True, check=True)
    context = ssl.create_default_context(cafile=os.path.join(work, "good.pem"))
    context.check_hostname = False
    with Server(binary, "sales", "--certificate", "good.pem", "--private-key", "good.key", folder=work, context=context) as server:
        check("over TLS", server.ask("/v2")[0] == 200, server.text())
    for what, certificate, key, said in (("expired", "old.pem", "old.key", "expired on 2020-02-01"),
                                         ("of another key", "good.pem", "old.key", "belong together")):
        here = os.path.dirname(os.path.abspath(__file__)) + "/"
        files = [x if x.startswith("good") else here + x for x in (certificate, key)]
        done = subprocess.run([binary, "serve", "sales", "--port", "0", "--certificate", files[0], "--private-key", files[1]],
                              cwd=work, capture_output=True, text=True, timeout=LIMIT)
        check(f"a certificate {what}", done.returncode == 3 and said in done.stderr and "fix: " in done.stderr, done)


def sounds():
    """A model of sounds reads the bytes of a file, and predicts what the command does."""
    draw = random.Random(4)
    for i in range(6):
        write_sound(os.path.join(work, f"tones/{('low', 'high')[i % 2]}/{i}.wav"), 8000, [((300, 1800)[i % 2], 0.2)], draw)
    run("train", "tones", "--hidden", "8", "--steps", "4", "--quiet", "--out", "runs/tones")
    with open(os.path.join(work, "tones/low/0.wav"), "rb") as file:
        sound = file.read()

    def infer(files, count=1):
        raw = b"".join(struct.pack("<I", len(one)) + one for one in files)
        head = json.dumps({"inputs": [{"name": "audio", "shape": [count], "datatype": "BYTES", "parameters": {"binary_data_size": len(raw)}}]}).encode()
        return server.ask("/v2/models/tones/infer", head + raw, {"Inference-Header-Content-Length": str(len(head))})
    with Server(binary, "runs/tones", folder=work) as server:
        about = server.ask("/v2/models/tones")[1]
        check("the input of sounds", about["inputs"][0] == {"name": "audio", "datatype": "BYTES", "shape": [-1]} and
              about["parameters"]["sample_rate"] == 8000, about)
        status, body, _ = infer([sound])
        expected = run("predict", "runs/tones", "tones/low/0.wav", "--json").decode().splitlines()
        check("the prediction of a sound", status == 200 and body["outputs"][0]["data"] == expected, body)
        check("the file alone as the body", server.ask("/v2/models/tones/infer", sound)[:2] == (status, body))
        for what, (status, body, _) in {"nonsense": infer([b"nonsense" * 30]), "a sound that is cut": infer([sound[:40]]), "an empty file": infer([b""]),
                                        "two files": infer([sound, sound], 2),
                                        "numbers": server.infer("tones", "audio", [1.0], [1])}.items():
            check(f"{what} instead of a sound", status == 400 and "fix: " in body["error"] and "/proc/" not in body["error"], (status, body))


def bench(server):
    url = f"http://127.0.0.1:{server.port}/v2/models/sales"
    done = subprocess.run([binary, "bench", "--serve", url, "--sessions", "8", "--connections", "3", "--rate", "20", "--seconds", "0.5", "--json",
                           "--deadline", "500s"], capture_output=True, text=True, timeout=LIMIT)
    found = json.loads(done.stdout or "{}")
    check("bench sends each session's frames", done.returncode == 0 and found["frames"] == 80 and found["refused"] == found["misses"] == 0, done)
    check("and prints percentiles", found.get("p50_ms", 1) <= found.get("p99_ms", 0) <= found.get("max_ms", 0), found)
    check("its sessions end", wait_for(lambda: server.metric("sessions_in_use", "sales") == 0))
    before = server.metric("steps_total", "sales")
    for model, more in (("sales", ["--connections", "3"]), ("book", [])):
        done = subprocess.run([binary, "bench", "--serve", url.replace("sales", model), "--http", "--sessions", "8", "--rate", "20", "--seconds", "0.5",
                               "--json", "--deadline", "500s", *more], capture_output=True, text=True, timeout=LIMIT)
        found = json.loads(done.stdout or "{}")
        check(f"bench over HTTP sends each step of {model}", done.returncode == 0 and found["frames"] == 80 and found["refused"] == found["misses"] == 0, done)
        check("and ends the sessions", server.metric("sessions_in_use", model) == 0)
    check("each request is a step", server.metric("steps_total", "sales") == before + 80)
    for what, wrong in (("no URL", "here"), ("a model without sessions", url.replace("sales", "names")), ("no server", "http://127.0.0.1:1/v2/models/x")):
        done = subprocess.run([binary, "bench", "--serve", wrong], capture_output=True, text=True, timeout=LIMIT)
        check(f"bench of {what}", done.returncode != 0 and "fix: " in done.stderr, done)


def prometheus(server):
    text = server.ask("/metrics")[1]
    check("metrics count steps", server.metric("steps_total", "sales") > 100)
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        check("promtool has nothing to say", done.returncode == 0 and not done.stderr, done)


def main():
    needs_server(binary, "serve")
    train()
    with Server(binary, "book", "names", "sales", "--sessions", "16", "--max-body", "200k", "--deadline", "1000s", "--idle", "1h", folder=work) as server:
        check("it listens", server.port, server.text())
        with socket.socket() as other:
            check("on its own address only", other.connect_ex(("127.0.0.2", server.port)) != 0)
        sales = server.ask("/v2/models/sales")[1]
        width = next(x["shape"][1] for x in sales["inputs"] if x["name"] == "input")
        outputs = next(x["shape"][1] for x in sales["outputs"] if x["name"] == "output")
        reference = Reference(width, 12, 8, outputs)
        protocol(server)
        tensors(server, reference, width, outputs)
        sequences(server, reference, width, outputs)
        jobs(server)
        tokens_of_text(server)
        bad_input(server, width, outputs)
        rude_clients(server, width, outputs)
        half_open(server)
        slow = Slow(server)
        threads = [threading.Thread(target=sequences, args=(server, reference, width, outputs))]
        for one in threads:
            one.start()
        jobs(server)
        for one in threads:
            one.join()
        bench(server)
        prometheus(server)
        versions(server, width, outputs)
        slow.finish()
        cost = server.metric("step_shared_seconds", "sales")
    sounds()
    idle_connections()
    limits(width, cost)
    priorities(width, cost)
    options()
    tls()
    finish("serve")


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
