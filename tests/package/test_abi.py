#!/usr/bin/env python3
"""The frozen interface: functions with their types, structs with offsets and sizes, and values of enums are those of the
recorded headers, tests/package/headers-0.2.txt; the library defines what the headers declare and no other unroll_ symbol; a
program compiled with the recorded headers runs with this library. What is new is recorded by UPDATE=1.
    tests/package/test_abi.py LIBRARY_FOLDER
"""
# test: args=$B; seconds=10
import os
import re
import subprocess
import sys
import tempfile

build = os.path.realpath(sys.argv[1])
here = os.path.dirname(os.path.realpath(__file__))
root = os.path.dirname(os.path.dirname(here))
record = os.path.join(here, "headers-0.2.txt")
headers = ["unroll", "unroll_stream", "unroll_network", "unroll_data", "unroll_train", "unroll_ranks", "unroll_advanced"]
libraries = [f"{build}/libunroll.a", "-ljansson", "-larchive", "-lz", "-lm", "-pthread", "-ldl"]
passed = failed = 0


def check(holds, what):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print("FAILED", what)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def current():
    """All headers as one, without comments."""
    text = ""
    for name in headers:
        text += run("gcc", "-w", "-fpreprocessed", "-dD", "-E", "-P", "-x", "c", f"{root}/include/{name}.h")
    kept = [line for line in text.splitlines() if not re.match(r'#include "', line)]
    return "\n".join(kept) + "\n"


def functions(text):
    """Prototypes by name, with one blank between words."""
    flat = " ".join(re.sub(r"\\\n", " ", text).split())
    found = {}
    for prototype in re.findall(r"UNROLL_API ([^;{]*?\));", flat):
        name = re.search(r"(\w+)\(", prototype).group(1)
        if name != "_begin": # of the macro
            found[name] = re.sub(r" ?([*(),]) ?", r"\1", prototype)
    for of in re.findall(r"UNROLL_DEFAULT\((\w+)\)", flat):
        if of != "type":
            found[f"{of}_begin"] = f"void {of}_begin({of}*config,size_t size)"
    return found


def fields_of(body):
    for field in body.split(";"):
        pointer = re.search(r"\(\*(\w+)\)", field)
        if pointer:
            yield pointer.group(1)
        elif field.strip():
            for part in field.split(","):
                yield re.search(r"(\w+)\s*(\[\w+\])*\s*$", part).group(1)


def layout(text, place):
    """Lines 'struct.field offset size', 'struct size', 'enumerator value', as the compiler has them."""
    prints = []
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\}\s*\w+;", text, re.S):
        prints.append(f'printf("{name} size %zu\\n", sizeof({name}));')
        for field in fields_of(body):
            prints.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof(({name} *)0)->{field});')
    for body in re.findall(r"enum(?: \w+)? \{(.*?)\}", text, re.S):
        for name in re.findall(r"\b(UNROLL_\w+)\b(?=\s*(?:=|,|$))", body.strip()):
            prints.append(f'printf("{name} %d\\n", (int){name});')
    with open(f"{place}/layout.c", "w") as file:
        file.write(text + "#include <stdio.h>\nint main(void)\n{\n" + "\n".join(prints) + "\nreturn 0;\n}\n")
    run("gcc", "-w", f"{place}/layout.c", *libraries, "-o", f"{place}/layout")
    return run(f"{place}/layout").splitlines()


def compare(before, now, place):
    old, new = functions(before), functions(now)
    check(len(old) > 150, f"only {len(old)} functions are recorded")
    for name, prototype in old.items():
        check(new.get(name) == prototype, f"'{prototype}' was '{new.get(name)}'; fix: keep it and add another function")
    was, now_is = layout(before, place), layout(now, place)
    check(len(was) > 400, f"only {len(was)} lines of layouts are recorded")
    sized = {line.split(".")[0] for line in was if re.match(r"\w+\.size 0 8$", line)}
    sizes = dict(line.rsplit(" ", 1) for line in now_is if " size " in line)
    for line in was:
        key, value = line.rsplit(" ", 1)
        may_grow = key.split(" ")[0] in sized and " size" in key
        grown = may_grow and int(sizes.get(key, 0)) >= int(value)
        check(line in now_is or grown, f"'{line}' changed; fix: append fields to structs with a size, and no others")
    unknown = [line for line in [*new.values(), *now_is] if line not in [*old.values(), *was]]
    check(not unknown, f"not recorded: {unknown[:5]}; fix: UPDATE=1 tests/package/test_abi.py build")
    return set(new)


def check_symbols(declared):
    symbols = run("nm", "--defined-only", "-g", f"{build}/libunroll.a")
    defined = set(re.findall(r" [TDBR] (unroll_\w+)$", symbols, re.M))
    check(defined == declared, f"declared alone: {sorted(declared - defined)}; defined alone: {sorted(defined - declared)}")


def run_example(text, place):
    """A program that was compiled with the recorded headers."""
    for name in headers:
        with open(f"{place}/{name}.h", "w") as file:
            file.write('#ifndef RECORDED\n#define RECORDED\n#include "recorded.h"\n#endif\n')
    with open(f"{place}/recorded.h", "w") as file:
        file.write(text)
    example = f"{root}/tests/base/sizes_example.c"
    run("gcc", "-std=c11", "-Wall", "-Werror", f"-I{place}", example, *libraries, "-o", f"{place}/then")
    run("gcc", "-std=c11", "-Wall", "-Werror", f"-I{root}/include", example, *libraries, "-o", f"{place}/now")
    then, now = run(f"{place}/then", cwd=place), run(f"{place}/now", cwd=place)
    check(then == now and then.count("\n") > 3, f"with the recorded headers: '{then}', now: '{now}'")


now = current()
if os.environ.get("UPDATE"):
    with open(record, "w") as file:
        file.write(now)
before = open(record).read()
with tempfile.TemporaryDirectory() as place:
    check_symbols(compare(before, now, place))
    run_example(before, place)
    changed = now.replace("int steps, rows;", "int rows, steps;", 1).replace("UNROLL_DATA = 3", "UNROLL_DATA = 9")
    was, becomes = layout(before, place), layout(changed, place)
    check(was != becomes and "UNROLL_DATA 9" in becomes, "a changed layout is not noticed")
print(f"abi: {passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
