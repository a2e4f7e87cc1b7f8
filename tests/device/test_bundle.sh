#!/bin/sh
# The bundle for a bare machine with a GPU (tools/gpu_bundle.sh), tested without one. Missing parts are reported. On the
# fake driver, whose kernels replace those of the build, all parts run and print a result. Needs the fakes and
# BUILD/bundled/unroll.
# Usage: test_bundle.sh BUILD [long], from the top folder; long: also hanging parts, a minute or two.
# test: kinds=ci-plain; args=$B; needs=$B/bundled/unroll $B/peers/peer_cudnn $B/unroll; seconds=60
# test: kinds=long-plain; args=$B long; needs=$B/bundled/unroll $B/peers/peer_cudnn $B/unroll; seconds=60
build=$1
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0 failed=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; cat "$work/out"; fi; }
says() { grep -Eq "$1" "$work/out"; }

check tools/gpu_bundle.sh "$build" "$work/bundle" >"$work/out" 2>&1
printf 'tiny one lstm bf16 1,3,2,8,8 - -\ntiny two gru fp32 1,3,2,8,8 ragged -\n' >"$work/bundle/bench/regimes-gpu.txt"
mkdir "$work/elsewhere" && mv "$work/bundle" "$work/elsewhere/" || exit 1
run=$work/elsewhere/bundle/run.sh

UNROLL_CUDA_DRIVER=/nowhere/libcuda.so.1 sh "$run" >"$work/out" 2>&1
check test $? = 1
check says '^starts: ok'
check says '^gpu: FAILED: there is no GPU that can be used: cuda +none: the CUDA driver named by UNROLL_CUDA_DRIVER'
check says '^check: skipped: it wants a GPU'
check says '^gpu bundle: [0-9]+ parts passed, 1 failed'

export CASES=tests/cases/tiny.txt WAYS=tests/cases/tiny.txt PRECISIONS=bf16 HIDDEN=8 STEPS=2 BYTES=1500
mkdir "$work/tools"
# A sanitizer that runs the program and reports nothing.
printf '#!/bin/sh\necho "$2" >>"%s/sanitized"\nshift 6\nexec "$@"\n' "$work" >"$work/tools/compute-sanitizer"
chmod +x "$work/tools/compute-sanitizer"
PATH=$work/tools:$PATH LIMIT=600 tests/device/with_fake_cuda.sh "$build" sh "$run" >"$work/out" 2>&1
check test $? = 0
check says '^    memcheck: clean'
check says '^    racecheck: clean'
check test "$(cat "$work/sanitized")" = "memcheck
racecheck"
check says '^check: ok .* gpu_check: [1-9][0-9]+ passed, 0 failed'
check says '^    cases, grid: [1-9][0-9]* passed, 0 failed'
check says '^bench.*: ok'
check says '^short-grid: ok'
check says '^ways: ok'
check says '^probe: skipped'
check says '^gpu bundle: [4-9] parts passed, 0 failed'
check test "$(ls "$work/elsewhere/bundle/results" | wc -l)" -le 8

# Without Python only our own times are measured; a part that takes too long is ended, and the next one begins.
mkdir "$work/bin"
for tool in sh cat date dirname grep head mkdir mktemp rm sed sha256sum sleep tail tee test timeout tr awk cut env printf; do
    ln -s "$(command -v "$tool")" "$work/bin/$tool" 2>/dev/null
done
LIMIT=1 PATH=$work/bin tests/device/with_fake_cuda.sh "$build" sh "$run" >"$work/out" 2>&1
check test $? = 1
check says '^check: FAILED: more than 1 s'
check says '^peers: skipped: there is no python3'
check says '^bench-tiny-two-train: ok .* gru 1,3,2,8,8 ragged'
if test "$2" != long; then
    echo "test_bundle: $passed passed, $failed failed, 0 skipped"
    test "$failed" = 0
    exit
fi

# Parts that hang and ignore signals (the cases of one implementation, a tool, a training) do not affect the results of
# others.
bundle=$work/elsewhere/bundle
mv "$bundle/build/unroll" "$bundle/build/real"
cat >"$bundle/build/unroll" <<'END'
#!/bin/sh
case "$UNROLL_CUDA_ALGORITHM $*" in
portable\ tests/cases/test_device*|portable\ train*--cell\ lstm*bf16*) trap '' TERM; while :; do sleep 1; done ;;
esac
exec "${0%unroll}real" "$@"
END
chmod +x "$bundle/build/unroll"
sed -i '2i if test "$2" = racecheck; then UNROLL_CUDA_ALGORITHM=grid; else trap "" TERM; while :; do sleep 1; done; fi' "$work/tools/compute-sanitizer"
PATH=$work/tools:$PATH SECONDS_A_PART=25 tests/device/with_fake_cuda.sh "$build" \
    sh -c "cd '$bundle' && tests/device/gpu_check.sh build" >"$work/out" 2>&1
check test $? = 1
mv "$bundle/build/real" "$bundle/build/unroll"
check says '^FAILED: cases, portable: no result, status 137'
check says '^cases, grid: [1-9][0-9]* passed, 0 failed'
check says '^train --cell lstm .*bf16: status 137, of at most 6 s'
check says '^trainings of lstm: [1-9][0-9]* passed, 1 failed'
check says '^trainings of gru: [1-9][0-9]* passed, 0 failed'
check says '^skipped: memcheck takes more than 20 s'
check says '^racecheck: clean'
echo "test_bundle: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
