#!/usr/bin/env python3
# test: args=$B
"""What nvcc compiled the GPU kernels to, read from the logs and the PTX that the Makefile keeps; needs no GPU.

No kernel may have a stack or spill registers, and the host's shim must list all of them. The persistent kernels have
the kinds of instructions recorded in cuda_code.txt and, with the same nvcc, hardly more registers. UPDATE=1 in the
environment records them again. Usage: check_cuda_code.py BUILD
"""
import glob
import os
import re
import shutil
import subprocess
import sys

MORE = 4             # additional registers that a kernel may use without a failure
RECORD = "tests/device/cuda_code.txt"
WORDS = ["mma.sync", "st.async", "mbarrier.try_wait", "ld.relaxed", "fence.acq_rel"]
counts = {"passed": 0, "failed": 0}


def check(holds, sentence):
    counts["passed" if holds else "failed"] += 1
    if not holds:
        print("FAILED:", sentence)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def finish(skipped=0):
    print(f"check_cuda_code: {counts['passed']} passed, {counts['failed']} failed, {skipped} skipped")
    sys.exit(counts["failed"] > 0)


def compiled(log):
    """Yields (kernel, gpu, registers, clean) for each kernel and GPU in ptxas' log."""
    for part in log.split("Compiling entry function '")[1:]:
        name, gpu = re.match(r"(\w+)' for '(\w+)'", part).groups()
        registers = int(re.search(r"Used (\d+) registers", part).group(1))
        yield name, gpu, registers, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in part


def instructions(ptx):
    """Counts the WORDS in each kernel of a PTX text."""
    return {re.match(r"\w+", part).group(): [part.count(word) for word in WORDS]
            for part in ptx.split(".entry ")[1:]}


def check_all(build, newest):
    """Returns the registers and instructions of the persistent kernels for sm_90a."""
    found, names, gpus = {}, set(), set()
    for log in sorted(glob.glob(f"{build}/cuda/*.fatbin.log")):
        image = log[:-len(".log")]
        ptx = "".join(read(path) for path in glob.glob(f"{image}.ptx/*.ptx"))
        code = instructions(ptx)
        for name, gpu, registers, clean in compiled(read(log)):
            check(clean, f"{name} has a stack or spills on {gpu}: {log}")
            gpus.add(gpu)
            names.add(name)
            if gpu == "sm_90a" and os.path.basename(image).startswith("persistent"):
                found[name] = [registers] + code[name]
    check({"sm_80", "sm_90a", *newest} <= gpus, f"kernels are compiled for {sorted(gpus)}")
    return found, names


def check_names(build, names):
    """The fake driver has the kernels of the images, and its probe."""
    fake = f"{build}/tests/device/fake_cuda.so"
    if not os.path.exists(fake):
        return
    symbols = subprocess.run(["nm", fake], capture_output=True, text=True, check=True).stdout
    ours = set(re.findall(r" [dD] (?:_ZL\d+)?(\w+)_kernel$", symbols, re.M)) - {"fake_probe"}
    check(ours == names, f"kernels of the fake driver or of the images alone: {sorted(ours ^ names)}")


def recorded():
    lines = read(RECORD).splitlines()
    return lines[0], {line.split()[0]: [int(n) for n in line.split()[1:]] for line in lines if line[0] != "#"}


def compare(found, toolkit):
    by, before = recorded()
    check(set(found) == set(before), f"{RECORD} and the images differ in {sorted(set(found) ^ set(before))}; "
          "UPDATE=1 records them again")
    for name in sorted(set(found) & set(before)):
        now, then = found[name], before[name]
        if by.endswith(f" {toolkit}"):
            check(now[0] <= then[0] + MORE, f"{name}: {now[0]} registers; recorded: {then[0]}")
        check([n > 0 for n in now] == [n > 0 for n in then], f"{name}: {WORDS} are {now[1:]}, not as {then[1:]}")


def main(build):
    nvcc = shutil.which(os.environ.get("NVCC", "nvcc"))
    if not nvcc:
        print("skipped: what kernels for GPUs compile to: there is no nvcc here")
        finish(1)
    if not glob.glob(os.path.join(build, "cuda", "*.log")):
        print("skipped: what kernels for GPUs compile to: this build has none; make CUDA=1")
        finish(1)
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    toolkit = re.search(r"release ([\d.]+)", version).group(1)
    codes = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
    found, names = check_all(build, {"sm_100"} & set(codes))
    check_names(build, names)
    if os.environ.get("UPDATE"):
        with open(RECORD, "w", encoding="utf-8") as file:
            print("# The persistent kernels as compiled for sm_90a by nvcc", toolkit, file=file)
            print("# kernel registers", *WORDS, file=file)
            for name in sorted(found):
                print(name, *found[name], file=file)
    compare(found, toolkit)
    finish()


main(sys.argv[1])
