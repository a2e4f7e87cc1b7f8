# Flips bits of a running process, like defective memory, for test_launch.sh: one bit at each place in its memory that
# has the first values of the largest tensor of a model file; or, for a training text, one in each 16 characters.
# Usage: flip_bit.py PROCESS MODEL.safetensors|TEXT
import json
import struct
import sys

process, path = int(sys.argv[1]), sys.argv[2]
with open(path, "rb") as file:
    if path.endswith(".safetensors"):
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        base = file.tell()
        header.pop("__metadata__", None)
        begin, end = max((t["data_offsets"] for t in header.values()), key=lambda o: o[1] - o[0])
        file.seek(base + begin)
        pattern = file.read(64)
        offsets, mask = [1], 4
    else:  # characters are numbered in the order of their bytes, one byte each; every other character has another number
        text = file.read()
        known = sorted(set(text))
        pattern = bytes(known.index(c) for c in text)
        offsets, mask = [i for i in range(0, len(text), 16) if pattern[i] ^ 1 < len(known)], 1
flips = 0
with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
    for line in maps:
        words = line.split()
        if not words[1].startswith("rw") or (len(words) > 5 and words[5].startswith("/")):
            continue
        low, high = (int(x, 16) for x in words[0].split("-"))
        try:
            memory.seek(low)
            data = memory.read(high - low)
        except OSError:
            continue
        at = data.find(pattern)
        while at >= 0:
            for offset in offsets:
                memory.seek(low + at + offset)
                memory.write(bytes([data[at + offset] ^ mask]))
            flips += 1
            at = data.find(pattern, at + 1)
print(flips, "places")
sys.exit(flips == 0)
