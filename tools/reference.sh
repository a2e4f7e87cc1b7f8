#!/bin/sh
# Prints docs/reference.md from what the command says of itself: help, manual page, list of commands. All of
# it comes from the tables in cli/; only the sentences that lead from part to part are here.
# Usage: reference.sh BUILD_FOLDER > docs/reference.md
set -e
unroll=${1:-build}/unroll
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$unroll" man >"$page"

commands() { "$unroll" help | sed -nE '/^usage:/,/^unroll COMMAND/ s/^  ([a-z]+) .*/\1/p'; }

# A section of the manual page: its terms become a table, other lines stay as they are.
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

cat <<END
# Reference

Printed by \`make reference\` from the one table of options; not to be edited by hand. A first training, step
by step, is in the [tutorial](tutorial.md); what lies in models, checkpoints, runs and texts is in
[formats.md](formats.md).

## Where settings come from

$(section SETTINGS)

A file of \`--config\` is a JSON object whose keys are the options' names. \`--set NAME=VALUE\` is another way
to write \`--NAME=VALUE\`. An unknown name or a wrong value is refused, in a file and in a variable too. A run
keeps its settings in \`config.json\`, and \`--resume\` goes on with these.

END
for command in $(commands); do
    printf '## unroll %s\n\n```\n' "$command"
    "$unroll" "$command" --help
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
