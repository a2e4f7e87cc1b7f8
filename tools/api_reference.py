#!/usr/bin/env python3
"""Writes docs/reference/api.md from the comments of the public headers: each declaration with the comment before it.
    tools/api_reference.py OUTPUT_FOLDER        make reference does this; test_docs.sh checks that it is fresh
"""
import glob
import os
import re
import sys
import textwrap

root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
headers = ["unroll", "unroll_stream", "unroll_network", "unroll_data", "unroll_train", "unroll_ranks", "unroll_advanced"]
PAGE = 270                              # lines of a page at most


def prose(comment):
    text = " ".join(re.sub(r"^ ?\* ?", "", line).strip() for line in comment.splitlines()).strip()
    return re.sub(r"\s+", " ", text).replace("<", "&lt;")


def sections_of(name):
    """The sections of a header as lists of lines."""
    text = open(f"{root}/include/{name}.h").read()
    text = re.sub(r"(?s)^.*?extern \"C\" \{\n#endif\n", "", text)
    text = re.sub(r"(?s)#ifdef __cplusplus\n\}.*", "", text)
    text = re.sub(r"(?m)^#define UNROLL_VERSION.*\n", "", text)
    text = re.sub(r"(?sm)^#if defined.*?^#endif\n", "", text)
    sections = []
    for chunk in re.split(r"\n(?:\s*\n)+", text.strip()):
        section = re.match(r"/\* ---- (.*?) -+ \*/$", chunk.strip())
        if section or not sections:
            sections.append([f"## {section.group(1) if section else name}", ""])
        if section:
            continue
        comment = re.match(r"(?s)/\*(.*?)\*/\n?", chunk)
        if comment:
            sections[-1] += [*textwrap.wrap(prose(comment.group(1)), 116), ""]
            chunk = chunk[comment.end():]
        if chunk.strip():
            sections[-1] += ["```c", *re.sub(r"UNROLL_API ", "", chunk.rstrip()).splitlines(), "```", ""]
    return sections


def pages_of(name):
    """Sections on as many pages as they need."""
    pages = [[]]
    for section in sections_of(name):
        if pages[-1] and len(pages[-1]) + len(section) > PAGE:
            pages.append([])
        pages[-1] += section
    return pages


def main():
    to = sys.argv[1]
    for old in glob.glob(f"{to}/api-unroll*.md"):
        os.remove(old)
    with open(f"{to}/api.md", "w") as index:
        index.write("# The C interface\n\nFor programmers: every declaration of the headers with its comment, as `make reference` "
                    "writes it. The promises and\nthe rules for callers are in [api-stability.md](api-stability.md).\n\n"
                    "| header | pages |\n| --- | --- |\n")
        for name in headers:
            about = re.match(r"/\* \w+\.h: (.*?)[.:](?:\n|$)", open(f"{root}/include/{name}.h").read()).group(1)
            links = []
            for number, lines in enumerate(pages_of(name), 1):
                page = f"api-{name.replace('_', '-')}{'-' + str(number) if number > 1 else ''}.md"
                links.append(f"[{page}]({page})")
                with open(f"{to}/{page}", "w") as file:
                    file.write(f"# {name}.h\n\nFor programmers: {about}.\nFrom the header; see [api.md](api.md).\n\n")
                    file.write("\n".join(lines).rstrip() + "\n")
            index.write(f"| `{name}.h`: {about} | {', '.join(links)} |\n")


main()
