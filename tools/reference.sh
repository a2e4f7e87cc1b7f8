#!/bin/sh
# Writes the reference of the command from its own output: help, manual page, list of commands. The text comes from the
# tables in cli/; only the connecting sentences are here. commands.md has settings, files, signals and the short
# commands, unroll-NAME.md the options of one command. A page has at most 280 lines.
# Usage: reference.sh BUILD_FOLDER OUTPUT_FOLDER
set -e
unroll=${1:-build}/unroll
to=${2:?usage: reference.sh BUILD_FOLDER OUTPUT_FOLDER}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$unroll" man >"$page"
mkdir -p "$to"
rm -f "$to"/unroll-*.md

commands() { "$unroll" help | sed -nE '/^usage:/,/^unroll COMMAND/ s/^  ([a-z]+) .*/\1/p'; }
about() { "$unroll" help | sed -nE "s/^  $1 +(.*)/\1/p" | head -n 1; }
is_short() { test "$("$unroll" "$1" --help all | wc -l)" -le 18; }

# Prints a section of the manual page: its terms become a table, other lines stay as they are.
section() {
    awk -v name="$1" -v head="$2" '
        /^\.SH / { here = substr($0, 5) == name; next }
        !here || /^\.TP$/ { next }
        /^\.B / {
            if (!term)
                printf "%s| %s | |\n| --- | --- |\n", text ? "\n" : "", head
            printf "%s| `%s` | ", term ? "|\n" : "", substr($0, 4)
            term = 1
            next
        }
        { text = 1; printf "%s%s", $0, term ? " " : "\n" }
        END { if (term) print "|" }' "$page" | sed -e 's/\\-/-/g' -e 's/\\e/\\/g' -e 's/\\&//g'
}

# Writes the help of a command, each group of options under a heading, on as many pages as it needs.
command_pages() {
    "$unroll" "$1" --help all | awk -v to="$to" -v name="$1" '
        function file(n) { return to "/unroll-" name (n > 1 ? "-" n : "") ".md" }
        function begin() {
            number++
            title = "# unroll " name (number > 1 ? ", page " number : "")
            print title "\n\nFor users of the command. `make reference` prints this page; [commands.md](commands.md) lists the others." >file(number)
            if (number > 1) print "Page 1: [unroll-" name ".md](unroll-" name ".md)." >file(number)
            lines = 4
        }
        function flush(   i) {
            if (!count) return
            if (!number || lines + count > 270) begin()
            if (number > 1 && !told[number]) { told[number] = 1; next_page[number - 1] = number }
            print (heading != "" ? "\n## " heading "\n" : "") "\n```" >file(number)
            for (i = 1; i <= count; i++) print text[i] >file(number)
            print "```" >file(number)
            lines += count + 5
            count = 0
        }
        /^[A-Z][A-Za-z ]*:$/ { flush(); heading = substr($0, 1, length($0) - 1); next }
        $0 == "" { blank = 1; next }
        { if (blank && count) text[++count] = ""; blank = 0; text[++count] = $0 }
        END {
            flush()
            for (i = 1; i < number; i++) print "\nMore options: [page " i + 1 "](unroll-" name "-" i + 1 ".md)." >file(i)
        }'
}

{
    cat <<END
# Commands

For users of the command: every command, where settings come from, files, signals, variables, exit status. \`make
reference\` prints this page and those of the commands from the table of options. Do not edit them by hand. The
[tutorial](../guide/tutorial.md) goes from a csv file to a deployed model; [formats.md](formats.md) describes models, checkpoints and runs.

| command | |
| --- | --- |
END
    for command in $(commands); do
        if is_short "$command"; then echo "| [\`unroll $command\`](#unroll-$command) | $(about "$command") |"
        else echo "| [\`unroll $command\`](unroll-$command.md) | $(about "$command") |"; fi
    done
    cat <<END

## Where settings come from

$(section SETTINGS)

A file for \`--config\` is a JSON object whose keys are the names of options. \`--set NAME=VALUE\` is another way to write
\`--NAME=VALUE\`. An unknown name or a wrong value is an error, in a file and in a variable too. A run keeps its settings in
\`config.json\`, and \`--resume\` uses them again.

END
    for command in $(commands); do
        is_short "$command" || continue
        printf '## unroll %s\n\n```\n' "$command"
        "$unroll" "$command" --help all
        printf '```\n\n'
    done
    cat <<END
## Files of a run

$(section FILES file)

## Signals

$(section SIGNALS)

## Environment

$(section ENVIRONMENT variable)

## Exit status

$(section "EXIT STATUS" status)
END
} >"$to/commands.md"
for command in $(commands); do
    is_short "$command" || command_pages "$command"
done
"$(dirname "$0")"/api_reference.py "$to"
