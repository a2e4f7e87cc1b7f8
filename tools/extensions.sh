#!/bin/sh
# Writes the list of extensions of a build as C: the rows that they add to tables, and the names of those that it leaves
# out. Usage: extensions.sh KIND EXTENSION:TABLE=NAME,... [--] EXTENSION:TABLE=NAME,...
# KIND is rows, for the library, or commands, for the command. After -- come the extensions that are left out.
kind=$1
shift
here= gone= name=here
for word; do
    if [ "$word" = -- ]; then name=gone; elif [ $name = here ]; then here="$here $word"; else gone="$gone $word"; fi
done
# Prints "TABLE NAME EXTENSION" of each row.
rows_of() {
    for word; do
        extension=${word%%:*}
        for row in $(echo "${word#*:}" | tr , ' '); do
            [ "${row%%=*}" = "$row" ] || echo "${row%%=*} ${row#*=} $extension"
        done
    done
}
echo "/* Written by tools/extensions.sh. */"
if [ "$kind" = commands ]; then
    echo '#include "cli/commands/commands.h"'
    rows_of $here | sed -n 's/^command \([a-z]*\) .*/unroll_status cmd_\1(struct settings *);/p'
    echo 'const struct extension_command extension_commands[] = {'
    rows_of $here | sed -n 's/^command \([a-z]*\) \(.*\)/    {"\1", "\2", cmd_\1},/p'
    rows_of $gone | sed -n 's/^command \([a-z]*\) \(.*\)/    {"\1", "\2", NULL},/p'
    echo '    {NULL, NULL, NULL}};'
    names=
    for word in $here; do names="$names${names:+ }${word%%:*}"; done
    echo "const char extensions_built[] = \"$names\";"
    echo 'const struct extension_command extension_words[] = {'
    rows_of $gone | sed -n '/^command /d; s/.* \(.*\) \(.*\)/    {"\1", "\2", NULL},/p'
    echo '    {NULL, NULL, NULL}};'
    exit
fi
echo '#include "base/extension.h"'
echo '#include <stddef.h>'
for word in $here; do
    case $word in *:command=*) ;; *:?*) echo "extern const struct extension_row extension_${word%%:*}[];" ;; esac
done
echo 'extern const struct extension_row extension_processor[];'
echo 'const struct extension_row *const extension_rows[] = {'
echo '    extension_processor,'
for word in $here; do
    case $word in *:command=*) ;; *:?*) echo "    extension_${word%%:*}," ;; esac
done
echo '    NULL};'
echo 'const struct missing_row missing_rows[] = {'
rows_of $gone | sed -n '/^command /d; s/\(.*\) \(.*\) \(.*\)/    {"\1", "\2", "\3"},/p' | tr _ ' '
echo '    {NULL, NULL, NULL}};'
