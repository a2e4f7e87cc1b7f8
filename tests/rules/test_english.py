"""Comments, messages and help in plain English: phrases to avoid, sentences of more than 35 words, spelling.

    test_english.py [FILE...]        without files: all sources but EXCEPT
    test_english.py --show FILE...   prints the prose of files, line by line

Documents are checked by test_prose.sh, which has the same list of phrases.
"""
# test: kinds=check-plain; if=python3
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

# Files that quote what to avoid, values that scripts read ("modelled" of plan --auto), names of files (LICENCE).
EXCEPT = ("tests/rules/test_english.py", "cli/run/plan_auto.c", "src/data/readers/folder.c")

PHRASES = subprocess.run(
    ["sh", "-c", "sed -n \"/^PHRASES='/,/'$/p\" tests/rules/test_prose.sh"], cwd=ROOT, capture_output=True, text=True
).stdout
PHRASES = [re.sub(r" +#.*", "", line) for line in PHRASES.split("'")[1].splitlines()]
PHRASES += [r"(?:^|(?<=[.;:] ))Of [^.:;]{1,80}:"]  # topic first
BAD = re.compile(r"(?:^|(?<=[^A-Za-z]))(?:" + "|".join(PHRASES) + r")(?=[^A-Za-z]|$)")
TOO_LONG = 35
C_FILES = (".c", ".h", ".cu", ".cuh", ".cc", ".cl", ".hpp", ".inc", ".v")
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'" r"|/\*.*?\*/|//[^\n]*", re.S)


def of_c(text):
    """Returns (line, kind, text) of comments and strings; adjacent strings are joined."""
    found, end = [], 0
    for match in TOKEN.finditer(text):
        word, line = match.group(0), text.count("\n", 0, match.start()) + 1
        if word[0] == '"':
            inner = word[1:-1].replace("\\n", "\n").replace('\\"', '"')
            if found and found[-1][1] == "string" and not text[end : match.start()].strip():
                inner = found.pop()[2] + inner
            found.append((line, "string", inner))
            end = match.end()
        elif word[0] == "/":
            stripped = re.sub(r"^\s*\*+ ?", "", word.strip("/*"), flags=re.M)
            found.append((line, "comment", stripped))
    return found


def of_script(text):
    """Joins consecutive comment lines."""
    found, before = [], -1
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#(?!!)\s?(.*)|.*\s#\s(.*)", line)
        if not match:
            continue
        words = match.group(1) if match.group(1) is not None else match.group(2)
        if before == number - 1 and match.group(1) is not None and found:
            found[-1] = (found[-1][0], "comment", found[-1][2] + "\n" + words)
        else:
            found.append((number, "comment", words))
        before = number
    return found


def of_python(text):
    found, before = [], -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            words = token.string.lstrip("# ")
            if before == token.start[0] - 1 and found:
                found[-1] = (found[-1][0], "comment", found[-1][2] + "\n" + words)
            else:
                found.append((token.start[0], "comment", words))
            before = token.start[0]
        elif token.type == tokenize.STRING and token.string.endswith('"""'):
            found.append((token.start[0], "comment", token.string.strip('"')))
    return found


def prose(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith(C_FILES):
        return of_c(text)
    return of_python(text) if path.endswith(".py") else of_script(text)


def sentences(text):
    """Splits at sentences, paragraphs, list items and lines of examples; `...` counts as a word."""
    text = re.sub(r"`[^`]*`", "`", text)
    for paragraph in re.split(r"\n\s*\n|\n\s{3,}|\n\s*[-*] ", text):
        yield from re.split(r"(?<=[.!?:])\s+", " ".join(paragraph.split()))


def faults(path):
    """Returns (line, phrase) of phrases, (line, sentence) of long sentences, and the number of sentences."""
    phrases, long, count = [], [], 0
    for line, kind, text in prose(path):
        if kind == "string" and (" " not in text.strip() or re.match(r"[A-Za-z_]+(/[a-z_]+)*$", text)):
            continue
        quoted = re.sub(r"`[^`]*`|'[^' ]*'", "`", text)
        phrases += [(line, found.group(0)) for found in BAD.finditer(" ".join(quoted.split()))]
        for sentence in sentences(text) if kind == "comment" else []:
            count += 1
            if len(re.findall(r"[A-Za-z`]+(?:[-'][A-Za-z]+)*", sentence)) > TOO_LONG:
                long.append((line, sentence))
    return phrases, long, count


def sources():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    folders = ("src/", "extensions/", "cli/", "bindings/", "tests/", "examples/", "bench/", "tools/", "include/")
    kinds = C_FILES + (".py", ".sh", ".mk")
    return [name for name in listed if name.startswith(folders) and name.endswith(kinds)
            and not re.search(r"/(seeds|vectors|expected|golden|fixed)/", name)]


def spelling(names):
    """Returns the output of codespell for American spelling; names in code are checked, too."""
    if not names or not shutil.which("codespell"):
        return None
    done = subprocess.run(
        ["codespell", "--builtin", "clear,rare,en-GB_to_en-US", "-q", "3", "-I", "tests/rules/words.txt", *names],
        cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def self_check():
    """The rules can fail."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.c")
        with open(path, "w") as file:
            file.write('/* Of a layer: its weights. It begins anew. */\nchar *a = "nobody " "knows";\n// ' + "word " * 40 + "\n")
        phrases, long, _ = faults(path)
        return [what for _, what in phrases] == ["Of a layer:", "anew", "nobody"] and len(long) == 1


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--show"]:
        for path in arguments[1:]:
            for line, kind, text in prose(path):
                print(f"{path}:{line}: {kind}: {' '.join(text.split())}")
        return 0
    names = arguments or [name for name in sources() if name not in EXCEPT]
    passed, failed, count, long = 0, 0, 0, []
    for name in names:
        phrases, too_long, number = faults(os.path.join(ROOT, name))
        count, long = count + number, long + [(name, *one) for one in too_long]
        passed, failed = passed + (not phrases), failed + bool(phrases)
        for line, what in phrases:
            print(f"FAILED {name}:{line}: '{what}'; fix: see PHRASES in tests/rules/test_prose.sh")
    few = len(long) <= max(1, count // 100)
    if not few or arguments:
        for name, line, sentence in long:
            print(f"{'FAILED ' if not few else ''}{name}:{line}: more than {TOO_LONG} words: {sentence}")
    misspelt = spelling(names)
    if misspelt is None and names:
        print("skipped: english: there is no codespell")
    elif misspelt:
        print("FAILED spelling:\n" + misspelt)
    checks = [few, not misspelt, self_check()]
    passed, failed = passed + sum(checks), failed + len(checks) - sum(checks)
    print(f"test_english: {passed} passed, {failed} failed, {int(misspelt is None and bool(names))} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
