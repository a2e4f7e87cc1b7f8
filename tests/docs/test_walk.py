#!/usr/bin/env python3
"""docs/internals/design.md: the picture of the rooms is that of the tree, and each function of the walks is defined at
the file, and within a screen of the line, that stand next to it. UPDATE=1 draws the picture and writes the lines again.
    tests/docs/test_walk.py BUILD_FOLDER
"""
# test: args=$B; extensions=cluster,cuda,gpu,hardware,opencl,serve,simulation,xla; seconds=10
import os
import re
import subprocess
import sys

NEAR = 20  # lines: the function is on the reader's screen, and not each change of a file writes this page
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
page, picture = (os.path.join(root, "docs/internals", name) for name in ("design.md", "rooms.svg"))
update = os.environ.get("UPDATE") == "1"
step = re.compile(r"^(\| .* \| `(\w+)` \| `([\w/.]+)`:)(\d+)( \|)$")
passed = failed = 0


def check(holds, what):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print("FAILED", what)


def definition(name, path):
    """The line on which a function begins; 0: nowhere."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if re.match(rf"(?:[a-zA-Z][^;]*)?\b{name}\(", line) and not line.rstrip().endswith(";"):
                return number
    return 0


def check_step(found):
    line = definition(found[2], found[3])
    check(line, f"{found[3]} does not define {found[2]}; fix: name the function that does this step")
    if update:
        return f"{found[1]}{line}{found[5]}"
    check(abs(line - int(found[4])) <= NEAR, f"{found[2]} begins at {found[3]}:{line}; fix: UPDATE=1 tests/docs/test_walk.py build")
    return found[0]


with open(page, encoding="utf-8") as file:
    lines = file.read().split("\n")
steps = [i for i, line in enumerate(lines) if step.match(line)]
check(len(steps) >= 20, f"{len(steps)} steps were found")
for i in steps:
    lines[i] = check_step(step.match(lines[i]))
drawn = subprocess.run(
    [sys.executable, os.path.join(root, "tools/rooms_svg.py"), os.path.realpath(sys.argv[1])],
    capture_output=True, text=True, check=False,
)
check(drawn.returncode == 0, drawn.stderr)
if update:
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    with open(picture, "w", encoding="utf-8") as file:
        file.write(drawn.stdout)
with open(picture, encoding="utf-8") as file:
    check(file.read() == drawn.stdout, f"{picture} is old; fix: UPDATE=1 tests/docs/test_walk.py build")
check("](rooms.svg)" in "\n".join(lines[:12]), "design.md does not open with the picture")
print(f"walk: {passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
