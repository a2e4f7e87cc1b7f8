#!/bin/sh
# Lists the tests. Test files in tests/ have lines "test: FIELD; FIELD..." (tests/README.md describes the fields).
#     tests/list.sh tests BUILD LEVEL [PATTERN [KIND]]
#         Prints KIND SECONDS ALONE TARGETS COMMAND of each test, separated by tabs. LEVEL: check, test, ci and long, each
#         of which includes those before it; ci is what CI runs; timed is only the tests that measure time. PATTERN: an
#         extended regular expression that matches KIND/FOLDER/NAME ARGUMENTS; selects the first level that has a match,
#         and without a KIND only plain tests if one matches.
#     tests/list.sh objects
#         Prints PROGRAM:OBJECTS of each program that is linked with more than its own object.
mode=$1 build=${2:-build} level=${3:-test} pattern=${4:-} kind=${5:-}
cd "$(dirname "$0")/.." || exit 2

# FILE:LINE of all test headers, which are in the first 40 lines.
headers() {
    find tests -type f \( -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.sh' -o -name '*.py' \) | LC_ALL=C sort |
        xargs awk 'FNR <= 40 && /^(#|\/\*) test: / { sub(/^(#|\/\*) test: /, ""); sub(/ *\*\/ *$/, ""); print FILENAME ":" $0 }'
}

# "needs FILE EXTENSION" for each header of an extension that a test includes.
needs() {
    grep -rnoE '^#include "extensions/[a-z]+' tests | sed 's|^\([^:]*\):[0-9]*:#include "extensions/|needs \1 |' | sort -u
}

{ needs; headers; } | awk -v mode="$mode" -v some="${BUILT_EXTENSIONS+1}" -v built=" ${BUILT_EXTENSIONS:-} " -v build="$build" -v level="$level" -v pattern="$pattern" -v only="$kind" '
    function fields(text,   part, n, i, at) {
        split("", field)
        n = split(text, part, /; */)
        for (i = 1; i <= n; i++) {
            at = index(part[i], "=")
            if (at) field[substr(part[i], 1, at - 1)] = substr(part[i], at + 1)
            else field[part[i]] = 1
        }
    }
    # The first extension that a test needs and this build leaves out.
    function left_out(file,   all, n, i, part) {
        all = included[file] "," field["extensions"]
        n = split(all, part, /,/)
        for (i = 1; i <= n; i++) if (some && part[i] != "" && !index(built, " " part[i] " ")) return part[i]
        return ""
    }
    function skip(name, why) {
        targets = " "       # not empty: read joins tabs that follow each other
        return "echo \"skipped: " name ": " why "\"; echo \"" name ": 0 passed, 0 failed, 1 skipped\""
    }
    function has(command) { return system("command -v " command " >/dev/null 2>&1") == 0 }
    # Returns the requirements of a command: its words that are files of the build folder; for a script also the command
    # unroll.
    function targets_of(command, folder, is_script,   word, n, i, all) {
        all = is_script ? folder "/unroll " folder "/libunroll.a" : ""
        n = split(command, word, /[ :,]/)
        for (i = 1; i <= n; i++) if (index(word[i], folder "/") == 1) all = all " " word[i]
        if (command ~ /with_fake_cuda/) all = all " fake-cuda"
        return all
    }
    function add(file, kinds,   one, at, folder, name, command, is_script, args, program) {
        at = match(kinds, /^(check|long|ci|timed)-/)
        one = at ? substr(kinds, RLENGTH + 1) : kinds
        folder = one == "plain" ? build : build "/" one
        name = file; sub(/^tests\//, "", name); sub(/\.[a-z]+$/, "", name)
        is_script = file ~ /\.(sh|py)$/
        program = is_script ? (file ~ /\.py$/ ? "python3 " : "") file : folder "/tests/" name
        args = ("args-" one) in field ? field["args-" one] : field["args"]
        command = (field["run"] == "" ? "" : field["run"] " ") program (args == "" ? "" : " " args)
        gsub(/\$B/, folder, command)
        targets = "needs" in field ? field["needs"] " " (is_script ? "" : program) : targets_of(command, folder, is_script)
        gsub(/\$B/, folder, targets)
        if ("if" in field && !has(field["if"])) command = skip(name, "there is no " field["if"])
        if (left_out(file) != "") command = skip(name, "built without the extension " left_out(file))
        count++
        kind_of[count] = one
        level_of[count] = at ? substr(kinds, 1, index(kinds, "-") - 1) : "test"
        text[count] = one "/" name (args == "" ? "" : " " args)
        line[count] = one "\t" ("seconds" in field ? field["seconds"] : 5) "\t" ("alone" in field ? "alone" : "-") "\t" targets "\t" command
    }
    /^needs / { included[$2] = included[$2] "," $3; next }
    {
        at = index($0, ":")
        file = substr($0, 1, at - 1)
        fields(substr($0, at + 1))
        if (mode == "objects") {
            sub(/^tests\//, "", file); sub(/\.[a-z]+$/, "", file)
            if (field["with"] != "" && !(file in seen)) print file ":" field["with"]
            seen[file]
            next
        }
        if (!("kinds" in field)) field["kinds"] = "plain"
        if (field["kinds"] == "none") next
        if (pattern != "" && only ~ /memory|thread/ && file !~ /\.(sh|py)$/ && index(field["kinds"], only) == 0)
            field["kinds"] = field["kinds"] "," only    # requested by name
        n = split(field["kinds"], kinds, /,/)
        for (i = 1; i <= n; i++) add(file, kinds[i])
    }
    # each level includes those before it; timed is separate
    function order(name) { return index("check test ci    long ", name " ") }
    function has_level(of, level) {
        return level == "timed" || of == "timed" ? of == level : order(of) <= order(level)
    }
    function fits(i, level) {
        return has_level(level_of[i], level) && (pattern == "" || text[i] ~ pattern) && (only == "" || kind_of[i] == only)
    }
    END {
        if (pattern != "") {            # the first level that has a match
            n = split(level " ci long timed", levels, / /)
            for (at = 1; at <= n && !found; at++)
                for (i = 1; i <= count; i++) if (fits(i, levels[at])) { found = 1; level = levels[at] }
            if (only == "") for (i = 1; i <= count; i++) if (fits(i, level) && kind_of[i] == "plain") plain = 1
            if (plain) only = "plain"
        }
        for (i = 1; i <= count; i++) if (fits(i, level)) print line[i]
    }'
