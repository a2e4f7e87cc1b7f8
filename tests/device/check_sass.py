#!/usr/bin/env python3
# test: kinds=plain
"""Counts the instructions of a step of a persistent LSTM in its machine code (SASS); needs nvcc and cuobjdump, no GPU.

The loop over steps has no integer divisions, one fence after the buffers that are emptied occasionally, one block
barrier for each product, and no stack. Its number of instructions is limited, for all variants together, of which a
launch runs one. cuobjdump is part of the CUDA toolkit and of PyPI's triton. Usage: check_sass.py [KERNELS.cu]
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Upper limits in the loop: instructions, conversions of integers to float (the start of a division), fences, barriers.
BUDGETS = {"forward": {"instructions": 4400, "I2F": 0, "MEMBAR": 2, "BAR": 1},
           "backward": {"instructions": 7950, "I2F": 0, "MEMBAR": 4, "BAR": 3}}
SHARES = 1.05  # tolerance for other toolkits
counts = {"passed": 0, "failed": 0, "skipped": 0}


def check(holds, sentence):
    counts["passed" if holds else "failed"] += 1
    if not holds:
        print("FAILED:", sentence)


def finish():
    print(f"check_sass: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(counts["failed"] > 0)


def find_cuobjdump():
    places = ["/usr/local/cuda/bin/cuobjdump"]
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    for root in (os.path.dirname(os.path.dirname(python)), sys.prefix):
        for end in ("triton/backends/nvidia/bin/cuobjdump", "nvidia/*/bin/cuobjdump"):
            places += glob.glob(f"{root}/lib/python3*/site-packages/{end}")
    return shutil.which("cuobjdump") or next((p for p in places if os.access(p, os.X_OK)), None)


def instructions(text):
    """Returns [(address, instruction)] of a kernel."""
    return [(int(at, 16), code.strip()) for at, code in re.findall(r"^\s+/\*([0-9a-f]{4,6})\*/\s+([^;]+);", text, re.M)]


def step_loop(code):
    """Returns the instructions of the longest loop."""
    spans = []
    for at, text in code:
        target = re.search(r"\bBRA(?:\.\w+)*\s+(?:\S+,\s*)?`?\(?\.?(?:L_x_\d+\)?|0x([0-9a-f]+))", text)
        if target and target.group(1) and int(target.group(1), 16) < at:
            spans.append((at - int(target.group(1), 16), int(target.group(1), 16), at))
    if not spans:
        return []
    _, first, last = max(spans)
    return [text for at, text in code if first <= at <= last]


def count(loop, word):
    return sum(re.match(rf"(@!?U?P\w+\s+)?{word}\b", text) is not None for text in loop)


def main(source):
    nvcc, cuobjdump = shutil.which(os.environ.get("NVCC") or "nvcc"), find_cuobjdump()
    if not nvcc or not cuobjdump:
        print(f"skipped: machine code of GPUs: there is no {'cuobjdump' if nvcc else 'nvcc'} here")
        counts["skipped"] += 1
        finish()
    with tempfile.TemporaryDirectory() as place:
        image = f"{place}/image.cubin"
        made = subprocess.run([nvcc, "-std=c++17", "-O3", "-Iinclude", "-Isrc", "-I.", "-gencode=arch=compute_90a,code=sm_90a",
                               "-Xptxas", "-v", "-cubin", source, "-o", image], capture_output=True, text=True)
        check(made.returncode == 0, f"{source} does not compile: {made.stderr[-500:]}")
        frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", made.stderr)
        check(len(frames) >= len(BUDGETS) and not any(int(n) for frame in frames for n in frame),
              f"a kernel of {source} has a stack or spills")
        text = subprocess.run([cuobjdump, "-sass", image], capture_output=True, text=True, check=True).stdout
    for part in text.split("Function : ")[1:]:
        name = part.split()[0].removeprefix("sass_")
        loop = step_loop(instructions(part))
        found = {word: count(loop, word) for word in BUDGETS[name] if word != "instructions"}
        found["instructions"] = len(loop)
        print(f"{name}: in the loop over steps", ", ".join(f"{n} {word}" for word, n in found.items()))
        for word, most in BUDGETS[name].items():
            check(found[word] <= most * (SHARES if word == "instructions" else 1) and (word != "instructions" or found[word] > 500),
                  f"{name}: {found[word]} {word} in the loop over steps, at most {most} are allowed")
    finish()


main(sys.argv[1] if len(sys.argv) > 1 else "tests/device/sass_lstm.cu")
