# Checks that names in documents and header comments exist: paths, files, symbols, macros, options, make targets and
# commands in `...`, and files mentioned in any comment of a C source. Whether a sentence is true is not tested.
# Usage: test_names.py ROOT
# test: args=.
import os
import re
import subprocess
import sys

# Names that are not in the tree, and why they are allowed.
EXCEPTIONS = {
    "headers of other projects, next to which ours were written": """
        cuda.h cublasLt.h nccl.h nvtxInit.h nvtxImpl.h nvtxTypes.h CL/cl.h cl.h
        pjrt_c_api.h pmip.c""",
    "files that a reader of the page writes": "predict.c train.py pool.c motors.c device.c",
    "symbols of other programs": """
        unit_forget_bias pad_sequences odls_base_sigkill_timeout CL_DEVICE_MAX_MEM_ALLOC_SIZE CL_FP_FMA
        CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT MPI_Iallreduce bias_hh_l1_reverse""",
    "names that are composed at run time, or by the user's --prefix poet": """
        weight_peephole_l0 y_train x_train y_test x_test POET_INPUTS POET_TOKENS poet_reset my_gemm""",
    "names that templates make (tests/rules/test_expand.sh)": """
        lstm_unit lstm_in_i lstm_forward lstm_backward lstm_forward_at lstm_backward_at lstm_forward_loop
        lstm_backward_loop lstm_tile_1 lstm_declaration lstm_kernels gru_before_tile_1""",
    "options of other programs (Open MPI, pip, mypy, pkg-config, TensorBoard)": """
        --oversubscribe --mca --map-by --strict --static --cflags --libs --logdir""",
}
ROOTS = ("src", "extensions", "cli", "tests", "tools", "docs", "include", "examples", "bench", "bindings")
CODE = (".c", ".h", ".inc", ".cu", ".cuh", ".cl", ".cc", ".cpp", ".py", ".pyi", ".sh", ".mk", ".txt", ".in", ".json", ".yaml", ".toml", ".v")
# Options of the scripts in bench/, tools/ and examples/.
OWN_OPTIONS = set('--only --turns --folder --document --part --unroll --lstm --json --reference --document'.split())
NAMED = r"[\w.-]+\.(?:c|h|cu|cuh|cl|inc|py|sh|mk|md)"

count = {"passed": 0, "failed": 0}


def check(holds, message):
    count["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED {message}")


def tracked(root):
    names = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    if names.returncode == 0:
        return [n for n in names.stdout.splitlines() if os.path.isfile(os.path.join(root, n))]
    found = []                                          # sources unpacked from an archive
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", ".git")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return found


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)


def comments_of(text):
    """Returns [(line, comment)] of C."""
    return [(text.count("\n", 0, m.start()) + 1, m[0]) for m in COMMENT.finditer(text) if m[0][0] == "/"]


def code_of(path, text):
    """Returns a source without its comments, which may name removed things."""
    if path.endswith((".py", ".pyi", ".sh", ".mk", ".yaml", ".toml")) or os.path.basename(path) in ("Makefile", "demo", "test"):
        return re.sub(r"(?m)^\s*#(?!!).*$", "", text)
    return COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else " ", text)


def spans_of(page):
    """Returns [(line, text)] of `...` outside of fenced blocks."""
    inside, lines = False, []
    for line in page.splitlines():
        if line.startswith("```"):
            inside = not inside
            lines.append("")
        else:
            lines.append("" if inside else line)
    prose = "\n".join(lines)
    return [(prose.count("\n", 0, m.start()) + 1, " ".join(m[1].split())) for m in re.finditer(r"`([^`]+)`", prose)]


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = tracked(root)
        self.names = {os.path.basename(f) for f in self.files}
        self.folders = {os.path.dirname(f)[:i] for f in self.files for i in range(len(f)) if (os.path.dirname(f) + "/")[i:i + 1] == "/"}
        self.words, self.targets, scripts = set(), set(), set()
        for path in self.files:
            code = path.endswith(CODE) or os.path.basename(path) in ("Makefile", "demo", "test", "CMakeLists.txt")
            if not code or path in ("tests/docs/test_names.py",):
                continue
            text = read(os.path.join(root, path))
            self.words |= set(re.findall(r"[A-Za-z_]\w*", code_of(path, text)))
            if (path.endswith((".py", ".sh")) or path.startswith("tests/cases/")) and not path.startswith("tests/docs/"):
                scripts |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", code_of(path, text)))
            if path.endswith(".mk") or path == "Makefile":
                text = text.replace("\\\n", " ")
                for m in re.finditer(r"(?m)^([\w ./%$()-]+?):(?!=)", text):
                    self.targets |= set(m[1].split())
            if path.startswith("extensions/hardware/"):            # Makefiles written by exports
                self.targets |= set(re.findall(r"(?m)^\s*\"?([a-z-]+):", text))
        pages = [f for f in self.files if re.match(r"docs/reference/(unroll-.*|commands)\.md$", f)]
        reference = "\n".join(read(os.path.join(root, p)) for p in pages)
        self.options = set(re.findall(r"--[a-z][a-z0-9-]*", reference)) | (scripts & OWN_OPTIONS)
        self.commands = set(re.findall(r"`unroll ([a-z]+)`", reference))
        self.exceptions = set(" ".join(EXCEPTIONS.values()).split())
        self.excused = set()

    def is_excused(self, name):
        if name in self.exceptions:
            self.excused.add(name)
        return name in self.exceptions

    def has_path(self, path):
        path = path.rstrip("/.,:;")
        if path.endswith(".[ch]"):
            return all(self.has_path(path[:-4] + e) for e in "ch")
        if "*" in path:
            pattern = re.compile(re.escape(path).replace(r"\*", "[^/]*") + "$")
            return any(pattern.match(f) for f in self.files)
        return path in self.files or path in self.folders

    def missing(self, token, span):
        """Returns why a word of a span is not a name of the tree, or None if it is or names nothing."""
        token = token.strip(",;:()[]\"'<>") if "[ch]" not in token else token
        token = re.sub(r"(_l)N$", r"\g<1>0", token.rstrip("."))
        if not token or self.is_excused(token) or re.search(r"(NAME|FILE|DIR|PARSER|\.\.\.|\$)", token) or token.startswith("UNROLL_NAME"):
            return None
        if token.startswith("--"):
            option = re.match(r"--[a-z0-9-]*", token)[0].replace("--no-", "--", 1)
            return None if option in self.options or self.is_excused(option) else f"no option {option}"
        if token.split("/")[0] in ROOTS and "/" in token:
            return None if self.has_path(re.sub(r"#.*|:\d+$", "", token)) else f"no file {token}"
        if re.fullmatch(NAMED, token):
            return None if token in self.names else f"no file {token}"
        symbol = re.fullmatch(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:\(.*)?", token)
        if symbol and (("_" in symbol[1].strip("_") or token.endswith("(")) or re.fullmatch(r"[A-Z][A-Z0-9_]{3,}", symbol[1])):
            return None if symbol[1] in self.words or self.is_excused(symbol[1]) else f"no symbol {symbol[1]}"
        return None

    def faults(self, span):
        words = span.split()
        if words[:1] == ["make"] and len(words) > 1:
            goals = [w.strip(",.;") for w in words[1:] if re.fullmatch(r"[a-z][a-z0-9-]*", w.strip(",.;"))]
            yield from (f"no make target {g}" for g in goals if g not in self.targets)
        for command in re.findall(r"(?:^|\| )(?:build/)?unroll ([a-z]+)(?= |$)", span):
            if command not in self.commands:
                yield f"no command unroll {command}"
        yield from filter(None, (self.missing(w, span) for w in words))


def anchors(page):
    """Returns the anchors that GitHub creates for a page's headings."""
    heads = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", page))
    return {re.sub(r"[^\w -]", "", h.strip().lower()).replace(" ", "-") for h in heads}


def check_page(tree, path):
    page = read(os.path.join(tree.root, path))
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)]*)\)", page):
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        check(os.path.isfile(os.path.join(tree.root, to)) and anchor in anchors(read(os.path.join(tree.root, to))),
              f"{path}: no heading #{anchor} in {to}")
    for line, span in spans_of(page):
        for fault in tree.faults(span):
            check(False, f"{path}:{line}: `{span}`: {fault}")
        check(True, "")


def check_comments(tree, path):
    for line, comment in comments_of(read(os.path.join(tree.root, path))):
        for name in re.findall(rf"(?<![\w/.-])(?:[\w-]+/)*{NAMED}(?![\w(])", comment):
            base = os.path.basename(name)
            known = tree.has_path(name) if name.split("/")[0] in ROOTS else any(f.endswith("/" + name) or f == name for f in tree.files)
            check(known or tree.is_excused(base), f"{path}:{line}: no file {name}")
        for macro in re.findall(r"(?m)^ \*   ([A-Z][A-Z0-9_]{3,})  ", comment):     # lists of macros that a file defines
            check(macro in tree.words, f"{path}:{line}: no macro {macro}")
        for symbol in re.findall(r"\b(?:unroll|UNROLL)_\w+\b(?!\*|\.)", comment):
            check(symbol in tree.words, f"{path}:{line}: no symbol {symbol}")
        if path.endswith((".h", ".cuh")):
            for span in re.findall(r"`([^`]+)`", comment):
                for fault in tree.faults(" ".join(span.split())):
                    check(False, f"{path}:{line}: `{span}`: {fault}")


def test_itself(tree):
    for span in ("src/nothing.c", "docs/gone.md", "gone_symbol", "--gone-option", "make gone", "unroll gone", "GONE_MACRO", "gone.h"):
        check(any(tree.faults(span)), f"`{span}` is not found to be missing")
    for span in ("src/base/json.c", "json.h", "unroll_model_new", "--hidden", "make check", "unroll train", "UNROLL_OK", "src/*/*.c", "extensions/*/*.c"):
        check(not any(tree.faults(span)), f"`{span}` is there: {list(tree.faults(span))}")


def main():
    tree = Tree(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "."))
    test_itself(tree)
    for path in tree.files:
        if path.endswith(".md"):
            check_page(tree, path)
        elif path.startswith(("include/", "src/", "extensions/", "cli/", "bindings/")) and path.endswith((".c", ".h", ".inc", ".cu", ".cuh")):
            check_comments(tree, path)
    for name in sorted(tree.exceptions - tree.excused):
        check(False, f"the exception {name} is not needed; fix: take it off EXCEPTIONS")
    check(count["passed"] > 1000, "few names were found")
    print(f"test_names: {count['passed']} passed, {count['failed']} failed, 0 skipped")
    return count["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
