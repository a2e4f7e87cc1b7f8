#!/bin/sh
# UNROLL_ISA_LIMIT limits a process to an instruction set and lower ones. test_isa.sh UNROLL
# test: kinds=check-plain; args=$B/unroll
unroll=$1 passed=0 failed=0
available() { UNROLL_ISA_LIMIT=$1 "$unroll" devices | awk '$2 == "yes" { print $1 }'; }
check() {
    if [ "$2" = "$3" ]; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED $1: '$2', not '$3'"
    fi
}

unset UNROLL_ISA_LIMIT
all=$(available "") so_far=
for isa in $all; do
    so_far="$so_far $isa"
    check "limited to $isa" "$(echo $(available "$isa"))" "${so_far# }"
done
check "without a limit" "$all" "$("$unroll" devices | awk '$2 == "yes" { print $1 }')"
refused=$(UNROLL_ISA_LIMIT=avx9 "$unroll" train "$(dirname "$0")/../../examples/data/co2.csv" --steps 1 2>&1)
case $refused in
    *"UNROLL_ISA_LIMIT in the environment is 'avx9'"*fix:*) check "refused" 1 1 ;;
    *) check "an unknown one is refused" "$refused" "a message that names it" ;;
esac
echo "isa limit: $passed passed, $failed failed, 0 skipped"
test $failed = 0
