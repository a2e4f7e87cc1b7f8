"""Load with clients that die, hang or send nonsense: each healthy session keeps the bits of its own stream, and the memory
of the server does not grow. Usage: test_soak.py COMMAND SECONDS MEGABYTES, the growth that is allowed (0: not measured)"""
# test: kinds=plain,memory,thread; args=$B/unroll 8 24; args-memory=$B/unroll 8 0; args-thread=$B/unroll 8 0; seconds=40
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Server, WebSocket, check, finish, needs_server

binary, seconds, allowed = os.path.abspath(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
work = tempfile.mkdtemp()
START, END, SESSIONS, STEPS, LONG = 1, 2, 8, 20, 10 ** 9
ends = threading.Event()
done = {"steps": 0, "requests": 0, "rude": 0}
wrong = []


def run(*words, **more):
    return subprocess.run([binary, *words], cwd=work, capture_output=True, check=True, **more).stdout


def train():
    draw = random.Random(1)
    with open(os.path.join(work, "sales.csv"), "w") as file:
        file.write("t,sold,price\n" + "".join("%d,%.2f,%.2f\n" % (t, draw.uniform(50, 90), draw.uniform(1, 2)) for t in range(200)))
    with open(os.path.join(work, "book.txt"), "w") as file:
        file.write("".join(draw.choice("abcd efgh\n") for _ in range(3000)))
    run("train", "sales.csv", "--task", "forecast", "--target", "sold", "--horizon", "3", "--hidden", "32", "--steps", "3", "--quiet", "--out", "sales")
    run("train", "book.txt", "--hidden", "16", "--steps", "4", "--batch", "4", "--bptt", "16", "--quiet", "--out", "book")


def references(width):
    draw, made = random.Random(7), []
    for _ in range(SESSIONS):
        rows = [struct.pack(f"<{width}f", *[draw.uniform(0, 100) for _ in range(width)]) for _ in range(STEPS)]
        raw = run("stream", "sales", "--write", "f32", input="".join(
            ",".join(map(repr, struct.unpack(f"<{width}f", row))) + "\n" for row in rows).encode())
        made.append((rows, [raw[i:i + len(raw) // STEPS] for i in range(0, len(raw), len(raw) // STEPS)]))
    return made


def until_the_end(work_once):
    """Repeats it; any error is one of the healthy client, and counts."""
    def loop():
        try:
            while not ends.is_set():
                work_once()
        except Exception as error:                      # noqa: a thread must report whatever ended it
            wrong.append(repr(error))
    thread = threading.Thread(target=loop)
    thread.start()
    return thread


def frames(server, references, client):
    """All sessions from their start to their end, over one WebSocket."""
    web = WebSocket(server, "sales")
    for at in range(STEPS):
        flags = (START if at == 0 else 0) | (END if at == STEPS - 1 else 0)
        got = web.step(at, [(100 * client + i, flags, rows[at]) for i, (rows, _) in enumerate(references)], len(references[0][1][0]) // 4, LONG)
        wrong.extend((client, i, at, got[100 * client + i][0]) for i, (_, outputs) in enumerate(references) if got[100 * client + i] != (0, outputs[at]))
        done["steps"] += SESSIONS
    web.close()


def tensors(server, references):
    """The same over HTTP, as JSON, with a text and a forecast between."""
    one = server.connect()
    rows, outputs = references[0]
    for at in range(STEPS):
        values = struct.unpack(f"<{len(rows[0]) // 4}f", rows[at])
        status, body, _ = server.infer("sales", "input", values, [1, len(values)], connection=one, timeout=LONG, sequence_id="tensors",
                                       sequence_start=at == 0, sequence_end=at == STEPS - 1)
        if status != 200 or struct.pack(f"<{len(body['outputs'][0]['data'])}f", *body["outputs"][0]["data"]) != outputs[at]:
            wrong.append(("tensors", at, status, body))
        done["steps"] += 1
    status, body, _ = server.ask("/v2/models/book/generate", {"text_input": "ab", "max_tokens": 30, "seed": 3}, connection=one)
    if status != 200 or body["text_output"] != text:
        wrong.append(("text", status, body))
    done["requests"] += 1
    one.close()


def reset(one):
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


def rude(server, draw, held):
    """One bad client. Some hang: the last 40 stay open."""
    kind, one = draw.randrange(9), socket.create_connection(("127.0.0.1", server.port), timeout=20)
    done["rude"] += 1
    post = b"POST /v2/models/sales/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    try:
        if kind == 0:
            one.sendall(post % 100000 + b"{" * draw.randrange(5000))                    # hangs in its body
        elif kind == 1:
            one.sendall(draw.randbytes(draw.randrange(1, 3000)))                        # nonsense
        elif kind == 2:
            body = bytes(draw.choice(b'{}[]":,0123456789einputs') for _ in range(300))
            one.sendall(post % len(body) + body)
        elif kind == 3:
            one.sendall((b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") * 20)             # reads nothing
        elif kind == 4:
            one.sendall(b"GET /v2 HTTP/1.1\r\n")
            one.shutdown(socket.SHUT_WR)                                                # half open
        elif kind == 5:
            one.sendall(b"POST /v2/models/book/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: 42\r\n\r\n"
                        b'{"text_input": "a", "max_tokens": 100000 }')
            one.recv(100)                                                               # dies while it is written
        elif kind in (6, 7):
            web = WebSocket(server, "sales", path="/v2/standby" if kind == 7 else None)
            one.close()
            one = web.socket
            for _ in range(5):
                web.send(draw.randbytes(draw.randrange(200)))
            one.sendall(b"\x82\xfe\xff\xff\0\0\0\0" + b"x" * 50)                       # half a message
        if kind < 5:
            held.append(one)
        else:
            reset(one)
        while len(held) > 40:
            reset(held.pop(0))
    except OSError:                                     # the server has closed it
        one.close()


def resident(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def soak(server, about):
    draw, held, sizes, begin = random.Random(5), [], [], time.monotonic()
    threads = [until_the_end(lambda client=client: frames(server, about, client)) for client in (1, 2)]
    threads += [until_the_end(lambda: tensors(server, about)), until_the_end(lambda: rude(server, draw, held))]
    while time.monotonic() < begin + seconds or not (all(done.values()) or wrong):
        time.sleep(0.1)
        sizes.append(resident(server))
    ends.set()
    for thread in threads:
        thread.join()
    for one in held:
        reset(one)
    return sizes


needs_server(binary, "soak")
try:
    train()
    text = run("sample", "book", "--prompt", "ab", "--length", "30", "--seed", "3").decode()[2:].removesuffix("\n")
    with Server(binary, "sales", "book", "--sessions", "64", "--max-body", "200k", "--deadline", "1000s", "--idle", "1h", folder=work) as server:
        width = next(x["shape"][1] for x in server.ask("/v2/models/sales")[1]["inputs"] if x["name"] == "input")
        sizes = soak(server, references(width))
        check("each healthy client has the right outputs", not wrong, wrong[:5])
        check("all clients did something", all(done.values()), done)
        if allowed:
            first, last = min(sizes[len(sizes) // 4:len(sizes) // 2]), min(sizes[-len(sizes) // 4:])
            check(f"the memory does not grow by {allowed} MB", last - first < allowed, (first, last))
            print(f"resident memory: {first:.1f} MB after a quarter, {last:.1f} MB at the end")
        print(", ".join(f"{count} {name}" for name, count in done.items()))
        check("it ends in order", server.stop() == 0, server.text())
    finish("soak")
finally:
    shutil.rmtree(work, ignore_errors=True)
