#!/usr/bin/env python3
"""Names that a reader searches for. No two rooms of the core define a struct, union or enum with the same tag, and a
static function whose name is a single word has it in at most three files, because neither grep nor a debugger tells
more of them apart. The rooms are those of docs/internals/design.md. Extensions have a limit that may only fall.
Usage: test_tags.py [ROOT]"""
# test: kinds=check-plain; args=.; seconds=3; if=python3
import collections
import pathlib
import re
import sys

EXTENSION_TAGS = 46  # tags of extensions that another room has, too
EXTENSION_WORDS = 29  # names in four files or more, with those of extensions
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
TAG = re.compile(r'\b(?:struct|union|enum) (\w+)\s*\{')
WORD = re.compile(r'^static (?:inline )?[\w *]*?\b([a-z0-9]+)\(', re.M)


def rooms_of(root):
    rows = re.findall(r'^\| `([\w/]+)` \|', (root / 'docs/internals/design.md').read_text(), re.M)
    return [row for row in rows if (root / row).is_dir()]


def room_of(path, rooms):
    return max((room for room in rooms if path.startswith(room + '/')), key=len, default=path)


def sources(root):
    for folder in 'src', 'cli', 'extensions':
        for path in sorted((root / folder).rglob('*')):
            if path.suffix in ('.c', '.h', '.inc', '.cu', '.cuh'):
                yield str(path.relative_to(root)), COMMENT_OR_TEXT.sub(' ', path.read_text(errors='replace'))


def is_core(path):
    return not path.startswith('extensions/')


def shared(files, rooms):
    """Returns the tags of several rooms and the words of more than three files, each with its files."""
    tags, words = collections.defaultdict(set), collections.defaultdict(set)
    for path, text in files:
        for tag in TAG.findall(text):
            tags[tag].add(path)
        for word in WORD.findall(text):
            words[word].add(path)
    return ({tag: paths for tag, paths in tags.items() if len({room_of(path, rooms) for path in paths}) > 1},
            {word: paths for word, paths in words.items() if len(paths) > 3})


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else '.')
    rooms, files = rooms_of(root), list(sources(root))
    failed = []
    for what, found in zip(('tag', 'static function'), shared([file for file in files if is_core(file[0])], rooms)):
        failed += [f"the {what} '{name}' is in {', '.join(sorted(paths))}; fix: add its object to the name"
                   for name, paths in sorted(found.items())]
    for what, limit, found in zip(('tags', 'static functions'), (EXTENSION_TAGS, EXTENSION_WORDS), shared(files, rooms)):
        if len(found) > limit:
            failed.append(f"{len(found)} {what} with extensions, more than {limit}; fix: rename one of {sorted(found)}")
    # The rules can fail: each violation is detected.
    broken = [('src/io/a.c', 'struct stone {'), ('src/nn/b.c', 'struct stone {')]
    broken += [(f'cli/show/{name}.c', 'static int weigh(void)') for name in 'abcd']
    if [len(found) for found in shared(broken, rooms)] != [1, 1]:
        failed.append('a tag in two rooms and a name in four files are not found')
    for line in failed:
        print('FAILED', line)
    print(f'test_tags: {3 - min(len(failed), 3)} passed, {len(failed)} failed, 0 skipped')
    return 1 if failed or len(files) < 500 else 0


sys.exit(main())
