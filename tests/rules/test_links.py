"""The layers by their symbols: an object of a module may use symbols of the modules in its row of the table in
docs/internals/design.md, and public symbols of modules above it in that table. What no #include shows is found here.
Usage: test_links.py BUILD
"""
# test: kinds=check-plain; if=python3; args=$B; needs=$B/unroll; seconds=5
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def table():
    """Module -> what its row allows, in the order of the table."""
    rows = {}
    with open(os.path.join(ROOT, "docs/internals/design.md"), encoding="utf-8") as file:
        for line in file:
            row = re.match(r"\| `([a-z/_.]+)` \|.*\| *([^|]*?) *\|$", line)
            if row:
                allowed = {word.strip(" `") for word in row[2].split(",")}
                rows[row[1].removeprefix("src/")] = allowed - {"nothing"}
    return rows


def module_of(path, rows):
    path = path.removeprefix("src/")
    while path and path not in rows:
        path = os.path.dirname(path)
    return path


def public_names():
    text = ""
    for name in os.listdir(os.path.join(ROOT, "include")):
        with open(os.path.join(ROOT, "include", name), encoding="utf-8") as file:
            text += file.read()
    begins = {name + "_begin" for name in re.findall(r"UNROLL_DEFAULT\w*\((\w+)\)", text)}
    return begins | set(re.findall(r"\b(unroll_\w+)\s*\(", text))


def objects(build):
    """Objects whose source is in the tree: a folder may hold those of files that are gone."""
    for top in ("src", "extensions", "cli"):
        for folder, _, names in os.walk(os.path.join(build, top)):
            for name in names:
                source = os.path.join(os.path.relpath(folder, build), name[:-2] + ".c")
                if name.endswith(".o") and os.path.exists(os.path.join(ROOT, source)):
                    yield source, os.path.join(folder, name)


def symbols(build):
    """Where each symbol is defined, and (source, symbol) of each use."""
    path_of = {path: source for source, path in objects(build)}
    listed = subprocess.run(["nm", "-A", "-g", *path_of], capture_output=True, text=True, check=True).stdout
    defined, used = {}, []
    for line in listed.splitlines():
        path, rest = line.split(":", 1)
        *_, kind, name = rest.split()
        if kind in "Uw":
            used.append((path_of[path], name))
        else:
            defined[name] = path_of[path]
    return defined, used


def faults(rows, public, defined, used):
    order = list(rows)
    for source, name in used:
        if name not in defined:
            continue
        own, other = module_of(source, rows), module_of(defined[name], rows)
        if own == other or other in rows[own] or any(word.startswith(other + "/") for word in rows[own]):
            continue
        if name in public and "include" in rows[own] and order.index(other) < order.index(own):
            continue
        yield f"{source} uses {name} of {defined[name]}: {own} may not use {other}"


def main():
    rows, public = table(), public_names()
    defined, used = symbols(sys.argv[1])
    found = list(faults(rows, public, defined, used))
    passed, failed = len(used) - len(found), len(found)
    for fault in found:
        print("FAILED", fault)
    # The rule can fail.
    upward = [("src/base/memory.c", "unroll_session_new"), ("src/session/session.c", "gpu_run")]
    for wrong in upward:
        if list(faults(rows, public, {**defined, "gpu_run": "extensions/gpu/gpu_run.c"}, [wrong])):
            passed += 1
        else:
            failed += 1
            print("FAILED not found:", *wrong)
    if len(used) < 1000 or len(public) < 100:
        failed += 1
        print(f"FAILED only {len(used)} symbols and {len(public)} public names were found")
    print(f"test_links: {passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
