#!/bin/bash
# Numbers that users type. Every option with a number, as listed in the help, refuses invalid numbers and numbers out of
# range, and prints the range; so do variables and the file of --config. All numbers are parsed by src/base/number.c.
#     tests/cli/test_numbers.sh BINARY          run in the root of the sources
# test: args=$B/unroll
set -u
binary=$(realpath "$1") || exit 2
sources=$PWD
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
unset $(env | sed -n 's/^\(UNROLL_[A-Z_]*\)=.*/\1/p')
passed=0 failed=0

# judge NAME RANGE FOUND, with the message in its file: exit code 2 and an error with the range
judge() {
    if [ "$3" -eq 2 ] && grep -q '^error: ' message && tr -d '\n' < message | grep -qF -- "$2"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)); echo "FAILED $1: exit $3: $(tr '\n' ' ' < message), not 2 and '$2'"
    fi
}
refuses() {             # RANGE COMMAND ARGUMENTS...
    local range=$1; shift
    "$binary" "$@" > output 2> message < /dev/null
    judge "unroll $*" "$range" $?
}

# "COMMAND --OPTION LEAST MOST" for each option whose help ends with a range in brackets; - : no upper limit
options_with_numbers() {
    for command in $("$binary" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
        "$binary" "$command" --help all | awk -v command="$command" '
            function tell() {
                if (match(text, /at least [0-9.e+-]+\]$/)) { split(substr(text, RSTART, RLENGTH - 1), w, " "); print command, name, w[3], "-" }
                else if (match(text, /[0-9.e+-]+ to [0-9.e+-]+(, or [a-z]+)?\]$/)) { split(substr(text, RSTART), w, /[] ,]+/); print command, name, w[1], w[3] }
            }
            /^  --|^[^ ]|^$/ { tell(); name = $1; text = "" }
            { gsub(/ +/, " "); text = text $0 }
            END { tell() }'
    done | sort -k 2,2 -u
}
options_with_numbers > options
hyperparameters=$(grep -ohE '\bH\([a-z0-9]+, [0-9s]' "$sources"/src/nn/optim/*.h | cut -d, -f1 | sort -u | wc -l)
of_tasks=$(cat "$sources"/src/tasks/*.[ch] "$sources"/src/tasks/examples/*.[ch] | awk '
    match($0, /\.name = "[a-z_]+"/) { name = substr($0, RSTART + 9, RLENGTH - 10) }
    /^ *\.min = / { print name }
    match($0, /RECIPE_NUMBER\([a-z]+, [0-9]/) { print substr($0, RSTART + 14, RLENGTH - 17) }' | sort -u |
    while read -r name; do grep -q "\"$name\",.*RANGE(" "$sources/cli/options/option_table.h" || echo "$name"; done | wc -l)
numeric=$(($(grep -c 'RANGE(' "$sources/cli/options/option_table.h") + hyperparameters + of_tasks))
[ "$(wc -l < options)" -eq "$numeric" ] || { failed=$((failed + 1)); echo "FAILED the help has ranges of $(wc -l < options) options, not of $numeric"; }

while read -r command option least most; do
    range="from $least to $most"
    [ "$most" = - ] && range="at least $least"
    for value in 99999999999999999999 -1 1x '' ' 1' 0x10 nan 1e999; do
        [ "$value" != -1 ] || [ "${least#-}" = "$least" ] || continue # within the range
        refuses "$range" "$command" "$option" "$value"
    done
done < options

# Lists of numbers, any of which may be wrong; the table has no range for mesh, GPU and functions.
for value in 64 64,1,1 64,1x 4294967297,1 99999999999,1 0,1 64,-1 ' 64,1' 64,0x1 64, ,1; do
    refuses "whole numbers from 1 to 1048576" export m --to stablehlo -o o --program "$value"
done
for value in 4294967297,4,1,1,1 1,2 1,1,1,1,1,1 1,1,1,1,1e3; do
    refuses "whole numbers from 1 to 1048576" bench --shape "$value"
done
for value in batch=4294967297 batch=0 batch=-1 batch=2x batch= 'batch= 2' batch=0x2 batch; do
    refuses "1 to 1024 ranks" plan --split "$value"
done
for value in 99999999999 -1 1x '' ' 1' 0x0; do refuses "0 to 1023" plan --device "cuda:$value"; done

# Variables and files.
for value in 99999999999999999999 -1 1x '' ' 1' 0x10 nan; do
    UNROLL_HIDDEN=$value refuses "from 1 to 16384" plan
    UNROLL_LR=$value refuses "from 1e-09 to 100" train /dev/null
    UNROLL_SHAPE=$value refuses "from 1 to 1048576" bench
done
echo hello > text
for pair in '"hidden": -1' '"hidden": 4294967297' '"for": "1x"' '"for": -1' '"memory": "1e999"' '"lr": -1' '"val": 0.6'; do
    echo "{$pair}" > config
    refuses " to " train text --config config
done
echo '{"seed": 99999999999999999999}' > config
refuses "too big integer" train text --config config

# No other parser of numbers: these functions do not check ranges, and most of them wrap around or accept trailing text.
cd "$sources" || exit 2
others=$(grep -rnE '\b(sscanf|ato[fil]|atoll|strto(f|d|ld|l|ll|ul|ull|imax|umax))\(|int[0-9]*(_t)?\) *json_integer_value' \
         src extensions cli bindings --include='*.[ch]' | grep -v '^src/base/number\.c:')
[ -z "$others" ] && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED others read numbers: $others"; }

echo "numbers: $passed passed, $failed failed, 0 skipped"
test $failed = 0
