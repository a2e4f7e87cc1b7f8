"""What the tests of the server share: a server that ends with the test, HTTP, WebSockets, and a count of checks."""

import base64
import http.client
import json
import math
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import wave

count = {"passed": 0, "failed": 0}
LIMIT = 600  # seconds that only a test that hangs takes


def check(what, holds, seen=""):
    count["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED {what}: {str(seen)[:600]}")


def finish(name, skipped=0):
    print(f"{name}: {count['passed']} passed, {count['failed']} failed, {skipped} skipped")
    sys.exit(count["failed"] > 0 or not count["passed"])


def needs_server(binary, name):
    """Ends the test if the command is built without the server."""
    probe = subprocess.run([binary, "serve", "none"], capture_output=True, text=True)
    if "libwebsockets was not found" in probe.stderr:
        print(f"skipped: the server wants libwebsockets-dev\n{name}: 0 passed, 0 failed, 1 skipped")
        sys.exit(0)


def wait_for(condition, seconds=LIMIT):
    """Until it is true; what it returned."""
    end = time.monotonic() + seconds
    while not (got := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return got


def write_sound(path, rate, tones, draw):
    """tones: (Hz, 0: none; seconds), in noise."""
    samples = [9000 * math.sin(2 * math.pi * hz * t / rate) + draw.uniform(-300, 300) for hz, seconds in tones for t in range(int(seconds * rate))]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(samples)}h", *map(int, samples)))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """unroll serve on a free port. `words`: models and options."""
    host = "127.0.0.1"

    def __init__(self, binary, *words, folder=".", context=None, headers=None):
        self.log = os.path.join(folder, f"server-{time.monotonic_ns()}.log")
        self.context, self.headers = context, headers or {}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([binary, "serve", "--port", "0", *words], stderr=log, stdout=log, cwd=folder)
        found = wait_for(lambda: re.search(r"listening on .*:(\d+)$", self.text(), re.M) or self.process.poll() is not None)
        self.port = int(found[1]) if not isinstance(found, bool) else 0

    def text(self):
        with open(self.log) as log:
            return log.read()

    def connect(self):
        if self.context:
            return http.client.HTTPSConnection(self.host, self.port, timeout=LIMIT, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=LIMIT)

    def ask(self, path, body=None, headers=None, connection=None):
        """(status, body, headers); JSON is read."""
        one = connection or self.connect()
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        one.request("GET" if body is None else "POST", path, body, self.headers | (headers or {}))
        answer = one.getresponse()
        data = answer.read()
        if not connection:
            one.close()
        if answer.headers.get("Content-Type") == "application/json" and data:
            data = json.loads(data)
        return answer.status, data, answer.headers

    def infer(self, model, name, values, shape, kind="FP32", connection=None, outputs=None, **parameters):
        body = {"inputs": [{"name": name, "shape": shape, "datatype": kind, "data": values}]}
        if parameters:
            body["parameters"] = parameters
        if outputs:
            body["outputs"] = outputs
        return self.ask(f"/v2/models/{model}/infer", body, connection=connection)

    def metric(self, name, model=None):
        text = self.ask("/metrics")[1].decode()
        label = rf'\{{model="{model}",version="\d+"\}}' if model else ""
        return sum(float(x) for x in re.findall(rf"^unroll_{name}{label} (\S+)$", text, re.M))

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class WebSocket:
    """Frames of f32: messages of records, as docs/howto/serving.md describes them."""

    def __init__(self, server, model, headers="", path=None):
        headers += "".join(f"{name}: {value}\r\n" for name, value in server.headers.items())
        self.connect((server.host, server.port), path or f"/v2/models/{model}/stream", headers, server.context)

    def connect(self, address, path, headers="", context=None):
        self.socket = socket.create_connection(address, timeout=LIMIT)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname=address[0])
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n{headers}"
                            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            got = self.socket.recv(4096)
            if not got:
                raise ConnectionError("the WebSocket was refused")
            self.buffer += got
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head:
            raise ConnectionError(head.decode())

    def send(self, payload, kind=2):
        size, first = len(payload), 0x80 | kind
        head = bytes([first, 0x80 | size]) if size < 126 else bytes([first, 0x80 | 126]) + struct.pack(">H", size) \
            if size < 65536 else bytes([first, 0x80 | 127]) + struct.pack(">Q", size)
        self.socket.sendall(head + b"\0\0\0\0" + payload)

    def take(self, size):
        while len(self.buffer) < size:
            got = self.socket.recv(1 << 16)
            if not got:
                raise ConnectionError("the WebSocket is closed")
            self.buffer += got
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def receive(self):
        """A whole message, which may come in several fragments."""
        message = b""
        while True:
            first, size = self.take(2)
            size = struct.unpack(">H", self.take(2))[0] if size == 126 else \
                struct.unpack(">Q", self.take(8))[0] if size == 127 else size
            message += self.take(size)
            if first & 0x80:
                return message

    def step(self, number, frames, width, deadline=0):
        """frames: (session, flags, floats as bytes[, number]); returns {session: (status, outputs as bytes)}."""
        self.send(struct.pack("<II", number, deadline) + b"".join(
            struct.pack("<QII", session, flags, *(number or [0])) + values for session, flags, values, *number in frames))
        answer = self.receive()
        assert struct.unpack_from("<I", answer)[0] == number
        size = 16 + 4 * width
        return {struct.unpack_from("<Q", answer, at)[0]: (struct.unpack_from("<I", answer, at + 8)[0], answer[at + 16:at + size])
                for at in range(8, len(answer), size)}

    def close(self):
        self.socket.close()
