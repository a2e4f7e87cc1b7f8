#!/bin/sh
# Limits on processors set by a shell or a container are respected: affinity, a control group's quota and its set of
# processors, with a real group where one may be created. tests/base/test_base.c tests the files of both versions.
# Usage: tests/device/test_limits.sh UNROLL
# test: args=$B/unroll; seconds=10
unroll=$1
passed=0 failed=0 skipped=0
group=

finish() {
    if [ -n "$group" ]; then
        rmdir $group
    fi
    echo "test_limits: $passed passed, $failed failed, $skipped skipped"
    exit "$failed"
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1"
}

# check WHAT EXPECTED COMMAND...: the threads that the command reports
check() {
    what=$1 expected=$2
    shift 2
    threads=$("$@" "$unroll" bench --shape 1,2,2,4,4 --pass infer --seconds 0.01 --json |
        sed -n 's/.*"threads": *\([0-9]*\).*/\1/p')
    if [ "$threads" = "$expected" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what: '$threads' threads, not $expected"
    fi
}

inside() {
    sh -c 'for g in '"$group"'; do echo $$ >$g/cgroup.procs || exit 1; done; exec "$@"' sh "$@"
}

check "no limit" "$(nproc)" env
check "one processor by affinity" 1 taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')"
if [ "$(nproc)" -lt 2 ]; then
    skip "quotas: there is one processor here"
    finish
fi

name=unroll-test-$$
if mkdir /sys/fs/cgroup/cpu/$name 2>/dev/null; then                         # version 1
    group=/sys/fs/cgroup/cpu/$name
    quota() { echo 100000 >$group/cpu.cfs_period_us && echo "$1" >$group/cpu.cfs_quota_us; }
elif mkdir /sys/fs/cgroup/$name 2>/dev/null; then                           # version 2
    group=/sys/fs/cgroup/$name
    quota() { echo "$1 100000" >$group/cpu.max; }
fi 2>/dev/null
if [ -z "$group" ] || ! quota 100000 2>/dev/null || ! inside true 2>/dev/null; then
    skip "quotas: no control group with a limit of processors can be made here"
    finish
fi
check "a quota of one processor" 1 inside
quota 190000
check "a quota of 1.9 processors, rounded down" 1 inside
quota 50000
check "a quota of half a processor" 1 inside
quota -1 2>/dev/null || quota max
check "no quota" "$(nproc)" inside
finish
