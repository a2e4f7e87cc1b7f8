#!/bin/bash
# The completion scripts in their shells: subcommands, options, values, files.
#     tests/cli/test_completion.sh BINARY
# test: args=$B/unroll
set -u
binary=$(realpath "$1") || exit 2
press_tab=$(realpath "$(dirname "$0")")/complete.zsh
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 2
passed=0 failed=0 skipped=0

holds() {               # NAME COMMAND...
    local name=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name: $*"; fi
}
unroll() { "$binary" "$@"; }
mkdir "two words" && touch "two words/a b.txt" book.txt
for shell in bash zsh fish; do unroll completion $shell >completion.$shell; done

# Each option of each command occurs in each script as often as in the help.
for shell in bash zsh fish; do
    missing=
    for option in $(for command in $(unroll help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
                        unroll "$command" --help all | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p'; done | sort -u); do
        grep -qE -- "(--|-l )$option\\b" completion.$shell || missing="$missing $option"
    done
    holds "$shell: all options" test -z "$missing"
done

# ---- bash ----
holds "the default is bash" cmp -s completion.bash <(unroll completion)
holds "sound bash" bash -n completion.bash
completes() {
    bash -c 'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _unroll; echo ${#COMPREPLY[@]} ${COMPREPLY[*]}' - "$@"
}
holds "commands" test "$(completes unroll tr)" = "1 train"
holds "values" test "$(completes unroll train --cell gr)" = "2 gru gru-before"
holds "options" test "$(completes unroll eval --js)" = "1 --json"
holds "a name with spaces as one word" test "$(completes unroll train 'two words/a')" = "1 two words/a b.txt"
holds "and of an option" test "$(completes unroll train --config 'two words/a')" = "1 two words/a b.txt"
holds "commands to explain" test "$(completes unroll help tr)" = "1 train"
holds "groups of options" test "$(completes unroll train --help net)" = "1 network"
holds "shells" test "$(completes unroll completion z)" = "1 zsh"
holds "no files where none is read" test "$(completes unroll plan b)" = 0

# ---- zsh ----
if command -v zsh >/dev/null; then
    holds "sound zsh" zsh -n completion.zsh
    tab() { zsh -f "$press_tab" completion.zsh "$1"; }
    holds "zsh: commands" test "$(tab 'unroll tra')" = "unroll train "
    holds "zsh: options" test "$(tab 'unroll train --opt adamw --hid')" = "unroll train --opt adamw --hidden="
    holds "zsh: values" test "$(tab 'unroll train --cell=lst')" = "unroll train --cell=lstm "
    holds "zsh: commands to explain" test "$(tab 'unroll help ver')" = "unroll help version "
    holds "zsh: groups of options" test "$(tab 'unroll train --help netw')" = "unroll train --help network "
    holds "zsh: files" test "$(tab 'unroll train bo')" = "unroll train book.txt "
    holds "zsh: folders" test "$(tab 'unroll train --out two')" = 'unroll train --out two\ words/'
else
    skipped=$((skipped + 1)); echo "skipped: there is no zsh"
fi

# ---- fish ----
if command -v fish >/dev/null; then
    export HOME=$place
    holds "sound fish" fish -n completion.fish
    tab() { fish -c 'source completion.fish; complete -C $argv[1]' "$1" | cut -f 1 | tr '\n' ' '; }
    holds "fish: commands" test "$(tab 'unroll tr')" = "train "
    holds "fish: options" test "$(tab 'unroll eval --js')" = "--json "
    holds "fish: values" test "$(tab 'unroll train --cell gr')" = "gru gru-before "
    holds "fish: commands to explain" test "$(tab 'unroll help tr')" = "train "
    holds "fish: groups of options" test "$(tab 'unroll train --help=netw')" = "--help=network "
    holds "fish: files" test "$(tab 'unroll eval bo')" = "book.txt "
    holds "fish: folders" test "$(tab 'unroll train --out t')" = "two words/ "
    holds "fish: no files where none is read" test -z "$(tab 'unroll plan b')"
else
    skipped=$((skipped + 1)); echo "skipped: there is no fish"
fi
echo "completion: $passed passed, $failed failed, $skipped skipped"
test $failed = 0
