#!/bin/sh
# Checks the style of the documents: README, CHANGELOG and pages are short, each page states its audience at the top,
# and phrases that are not plain English do not occur. Whether documents are true is tested in tests/docs.
# Usage: test_prose.sh ROOT
# test: kinds=check-plain; args=.
cd "$1" || exit 2
passed=0 failed=0
holds() { if [ "$2" = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1"; fi; }

# The left column lists phrases to avoid; # introduces replacements.
PHRASES='beside                         # next to, compared with
behind                                  # after, through
anew                                    # again, re-
so many (as|that|of)                    # N
in the place of                         # instead of
[Ww]hoever|[Nn]obody|[Ss]omebody        # the caller, no thread, a user
that which                              # the noun
naive answer                            # naive baseline
data of yours                           # your data
(is|are) (said|told)                    # is printed, is reported
go(es)? on (with|from|to train)         # continue, resume
learn(s|t)? by heart                    # overfit
sees? nothing else                      # includes only
lies? (in|on|at|there)                  # is stored
go together                             # are averaged, are synchronized
now and then                            # occasionally, every N steps
as many as                              # enough to, the same number as
there is (none|no [a-z]+) (there|here)  # not supported on, not found
whose are                               # a sentence of its own'

phrases_of() { echo "$PHRASES" | sed -E 's/ +#.*//'; }
# Text between ``` and in `...` is quoted from programs, and commands.md is generated.
prose() { awk '/^```/ { inside = !inside; print ""; next } inside { print ""; next } { gsub(/`[^`]*`/, "`"); print }' "$1"; }
bad_phrases() {
    case $1 in docs/reference/commands.md) return ;; esac
    prose "$1" | grep -nE "(^|[^A-Za-z])($(phrases_of | paste -sd'|'))([^A-Za-z]|\$)"
}

lines() { wc -l <"$1"; }
holds "README.md has more than 150 lines" $(($(lines README.md) <= 150))
longest=$(awk '/^## / { n = 0 } { n++; if (n > most) most = n } END { print most }' CHANGELOG.md)
holds "a version in CHANGELOG.md has more than 120 lines" $((longest <= 120))
# Prints what is wrong with a page.
faults() {
    [ "$(lines "$1")" -le 300 ] || echo "more than 300 lines"
    case $1 in docs/* | bench/* | examples/* | bindings/*) sed -n 3p "$1" | grep -q '^For ' || echo "line 3 does not begin with 'For ', for whom the page is" ;; esac
    bad_phrases "$1" | head -n 3 | sed "s|^|phrase to replace (see PHRASES in tests/rules/test_prose.sh): line |"
}
for page in $(ls CONTRIBUTING.md README.md CHANGELOG.md bench/README.md examples/README.md bindings/python/README.md docs/*.md docs/*/*.md); do
    found=$(faults "$page")
    holds "$page: $found" "$([ -z "$found" ] && echo 1)"
done

for page in docs/*/*.md; do
    case $page in docs/reference/unroll-*|docs/reference/api-unroll*) continue ;; esac  # listed in commands.md, api.md
    holds "docs/README.md does not list $page" "$(grep -c "(${page#docs/})" docs/README.md)"
done

# The rules can fail.
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
phrases_of | wc -l | grep -qx 19 || holds "phrases are read" 0
for sentence in 'a naive answer beside it' 'it begins anew' 'what is said' 'Nobody looks' 'in the place of a file'; do
    echo "$sentence" >"$place/page"
    holds "not found: $sentence" "$(bad_phrases "$place/page" | grep -c .)"
done
printf 'a `beside` field\n```\nanew\n```\n' >"$place/page"
holds "quoted text is no prose" "$([ -z "$(bad_phrases "$place/page")" ] && echo 1)"

echo "test_prose: $passed passed, $failed failed, 0 skipped"
test "$failed" = 0
