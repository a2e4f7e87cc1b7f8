#!/usr/bin/env python3
"""Draws the rooms of the source tree: what each includes, and which functions of others it calls, from the files and from
the symbols of their objects. An arrow that a longer way already shows is left out.
    tools/rooms_svg.py BUILD_FOLDER > docs/internals/rooms.svg
"""
import pathlib
import re
import subprocess
import sys

FOLDERS = ("src", "extensions")
WIDTH, ROW, BOX, HEIGHT = 760, 58, 118, 32


def room_of(path):
    """src/device/cpu and src/device are two rooms: kernels and their interface. Extensions are one, without commands."""
    parts = pathlib.PurePath(path).parts
    if parts[0] == "cli" or "cli" in parts[2:3]:
        return "cli"
    if parts[0] == "extensions":
        return "extensions"
    if parts[:3] == ("src", "device", "cpu"):
        return "device/cpu"
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def includes(root):
    """Pairs of rooms: the first has a file that includes a header of the second."""
    for folder in (*FOLDERS, "cli"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            own = room_of(path.relative_to(root))
            for header in re.findall(r'^ *# *include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
                other = room_of(header if header.startswith(("cli/", "extensions/")) else f"src/{header}")
                if own and other and "/" in header:
                    yield own, other


def symbols(build):
    """Pairs of rooms: the first has an object that calls a function of the second."""
    defined, needed = {}, []
    paths = sorted(path for folder in (*FOLDERS, "cli") for path in (build / folder).rglob("*.o"))
    for line in subprocess.run(["nm", "-A", *paths], capture_output=True, text=True, check=True).stdout.splitlines():
        path, _, symbol = line.partition(".o:")
        own, (kind, name) = room_of(pathlib.Path(f"{path}.o").relative_to(build)), symbol.split()[-2:]
        if own and kind == "U":
            needed.append((own, name))
        elif own and kind in "TDBR":
            defined[name] = own
    return ((own, defined[name]) for own, name in needed if name in defined)


def reduced(edges):
    """Removes arrows that follow from others; the edges have no cycle."""
    below = {}

    def reach(room):
        if room not in below:
            below[room] = set()
            for a, b in edges:
                if a == room:
                    below[room] |= {b} | reach(b)
        return below[room]

    return [(a, b) for a, b in edges if not any(b in reach(c) for x, c in edges if x == a and c != b)]


def levels(edges):
    """The longest way down from each room."""
    depth = {}

    def find(room):
        if room not in depth:
            depth[room] = max((1 + find(b) for a, b in edges if a == room), default=0)
        return depth[room]

    for edge in edges:
        find(edge[0]), find(edge[1])
    return depth


def draw(edges):
    depth = levels(edges)
    lowest = max(depth.values())
    place = {}

    def middle_of_users(room):
        users = [place[a][0] for a, b in edges if b == room]
        return sum(users) / len(users) if users else 0

    for level in range(lowest + 1):
        rooms = sorted((room for room in depth if depth[room] == lowest - level), key=lambda r: (middle_of_users(r), r))
        for i, room in enumerate(rooms):
            place[room] = ((i + 1) * WIDTH / (len(rooms) + 1), 20 + level * ROW)
    height = (lowest + 1) * ROW + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="14">',
        "<title>Rooms of the source tree: each uses those below it that its lines lead to</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for a, b in sorted(edges):
        (x, y), (u, v) = place[a], place[b]
        y += HEIGHT
        middle = (y + v) / 2
        out.append(
            f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {middle:.0f} {u:.0f} {middle:.0f} {u:.0f} {v:.0f}" '
            'fill="none" stroke="#8a94a6" stroke-width="1.3"/>'
        )
    for room, (x, y) in sorted(place.items()):
        fill = "#fdeed8" if room in ("cli", "extensions") else "#e3edfb"
        out.append(
            f'<rect x="{x - BOX / 2:.0f}" y="{y:.0f}" width="{BOX}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="#43536b"/>'
            f'<text x="{x:.0f}" y="{y + 22:.0f}" text-anchor="middle">{room}</text>'
        )
    return "\n".join([*out, "</svg>"])


def main():
    root, build = pathlib.Path(__file__).resolve().parent.parent, pathlib.Path(sys.argv[1])
    edges = sorted({(a, b) for a, b in (*includes(root), *symbols(build)) if a != b})
    around = [(a, b) for a, b in edges if (b, a) in edges]
    if around:
        sys.exit(f"rooms that use each other: {around}")
    print(draw(reduced(edges)))


if __name__ == "__main__":
    main()
