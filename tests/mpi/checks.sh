# Shared by the tests of ranks and machines: an empty folder, Open MPI as root, checks and their count. Sourced, with
# the name of the test.
name=$1 passed=0 failed=0 skipped=0
# The test restarts with its own /dev/shm, so that anything left there was created by its own ranks.
if [ -z "${own_memory:-}" ] && unshare -m mount -t tmpfs -o mode=1777 tmpfs /dev/shm 2>/dev/null; then
    mapfile -d '' -t command_line </proc/$$/cmdline
    own_memory=yes exec unshare -m sh -c 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"' sh "${command_line[@]}"
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_base_warn_component_unused=0
export TMPDIR=$dir

check() {       # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >out.check 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        tail -n 12 out.check log 2>/dev/null
    fi
}
finish() {
    echo "$name: $passed passed, $failed failed, $skipped skipped"
    exit $((failed > 0))
}
skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1"
}
make_text() { local i; for i in $(seq 400); do echo "$i: a line of text, in which $((i * 7919 % 1000)) is a number and nothing is new"; done >text; }
says() { grep -q -- "$1" log; }

# Lists what is left in shared memory. Without root it is shared with other programs, whose segments cannot be
# distinguished from ours.
left_in_memory() { [ -z "${own_memory:-}" ] || ls -A /dev/shm; }

# The processes that write to $1 here: another test on this machine may have runs with the same name.
writing_to() {
    local p
    for p in $(pgrep -f -- "--out $1"); do
        [ "/proc/$p/cwd" -ef . ] && echo "$p"
    done
}
# The process of rank $1 of the run that writes to $2, not its guard.
process_of() {
    local p
    for p in $(writing_to "$2"); do
        [ "$(cat "/proc/$p/comm")" = unroll ] &&
            tr '\0' '\n' <"/proc/$p/environ" | grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1" && echo "$p" && return
    done 2>/dev/null
}
