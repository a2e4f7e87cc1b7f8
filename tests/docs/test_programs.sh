#!/bin/sh
# Pages whose programs need PyTorch or Keras: their Python and sh blocks are run in one folder, from top to bottom, in
# one interpreter. Plain blocks are run in test_pages.sh, without Python.
# Usage: test_programs.sh BUILD
# test: args=$B; seconds=20
build=$(realpath "$1") root=$(realpath "$(dirname "$0")/../..")
python=$("$root/tests/venv.sh" "$build" torch keras safetensors h5py numpy) ||
    { echo "skipped: $python"; echo "programs: 0 passed, 0 failed, 1 skipped"; exit 0; }
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cat >"$place/run.py" <<'END'
import os, re, subprocess, sys

page, space, ran = open(sys.argv[1]).read(), {}, {"python": 0, "sh": 0}
for kind, block in re.findall(r"^```(python|sh)\n(.*?)^```", page, re.S | re.M):
    ran[kind] += 1
    if kind == "python":
        exec(compile(block, f"{sys.argv[1]}, block {ran[kind]}", "exec"), space)
    else:
        done = subprocess.run(["sh", "-ec", block], text=True, capture_output=True)
        print(done.stdout + done.stderr)
        sys.exit(done.returncode) if done.returncode else None
sys.exit(0 if min(ran.values()) > 0 else "no blocks")
END
passed=0 failed=0
for page in docs/howto/from-pytorch.md docs/howto/from-keras.md; do
    mkdir "$place/work" && ln -s "$root/tools" "$place/work/" || exit 2
    if (cd "$place/work" && KERAS_BACKEND=torch PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools \
            PATH="$(dirname "$python"):$build:$PATH" timeout 200 "$python" "$place/run.py" "$root/$page") >"$place/log" 2>&1
    then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $page: $(tail -n 4 "$place/log")"; fi
    rm -rf "$place/work"
done
echo "programs: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
