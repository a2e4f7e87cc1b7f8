# Draws the chart of the README: the speed of five shapes from RESULTS.md compared with PyTorch, one bar per library, on
# a light and on a dark background. Measures nothing: every number comes from that page.
# Usage: python3 bench/speed.py [RESULTS.md [OUTPUT_FOLDER]]
import os
import re
import sys
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = "2"
# The section of the page, the name of its row, and the two lines of its label in the chart.
SHAPES = [
    ("LSTM, forward and backward", "A", "training", "LSTM 1x512, batch 64"),
    ("LSTM, forward and backward", "G", "training", "LSTM 3x1024, batch 32"),
    ("GRU (resets after the product), forward and backward", "A", "training", "GRU 1x512, batch 64"),
    ("LSTM, inference", "A", "inference", "LSTM 1x512, batch 64"),
    ("LSTM, inference", "8", "inference", "LSTM 1x512, batch 8"),
]
LIBRARIES = {"Unroll": ["Unroll"], "oneDNN": ["oneDNN 2", "oneDNN 3"], "PyTorch": ["PyTorch"], "ONNX Runtime": ["ONNX Runtime"]}
COLORS = {
    "light": dict(text="#24292f", quiet="#57606a", grid="#d0d7de", page="#ffffff",
                  bars=("#0b5fb0", "#e08a00", "#c44e00", "#00805a")),
    "dark": dict(text="#e6edf3", quiet="#9198a1", grid="#3d444d", page="#0d1117",
                 bars=("#58a6ff", "#f0a830", "#ff7b45", "#2dbd8c")),
}
WIDTH, LEFT, RIGHT, TOP, HEIGHT, FOOT, BAR, MOST = 860, 40, 8, 64, 200, 44, 32, 2.75


def milliseconds(page, section, name):
    """Returns {library: ms} for a row of a section of RESULTS.md, without the libraries that do not offer it."""
    found = re.search(rf"^### {re.escape(section)}\n\n(.*?)(?:\n\n|\Z)", page, re.S | re.M)
    if not found:
        raise ValueError(f"there is no section '{section}'")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    for row in rows[2:]:
        if row[0] == name and row[2] == THREADS:
            return {
                title: float(re.match(r"[0-9.e+]+", cell)[0])
                for title, cell in zip(rows[0][3:], row[3:])
                if cell != "-"
            }
    raise ValueError(f"section '{section}' has no row '{name}' of {THREADS} threads")


def speeds(page):
    """Yields {library: speed compared with PyTorch} for each shape. The fastest version of a library counts."""
    for section, name, *_ in SHAPES:
        ms = milliseconds(page, section, name)
        best = {
            library: min((ms[version] for version in versions if version in ms), default=None)
            for library, versions in LIBRARIES.items()
        }
        yield {library: ms["PyTorch"] / time for library, time in best.items() if time}


def svg(page, colors):
    bottom = TOP + HEIGHT
    style = (
        f"text{{font:12px system-ui,sans-serif;fill:{colors['quiet']}}}.t{{font-size:15px;font-weight:600}}.t,.n{{fill:"
        f"{colors['text']}}}.n{{font-weight:600}}.m{{text-anchor:middle}}.e{{text-anchor:end}}line{{stroke:{colors['grid']}}}"
    )
    parts = [
        f'<rect width="{WIDTH}" height="{bottom + FOOT}" fill="{colors["page"]}"/>',
        f'<text class="t" x="{LEFT}" y="22">Speed compared with PyTorch, {THREADS} cores of a Xeon with AMX (higher is better)</text>',
    ]
    x = LEFT
    for library, color in zip(LIBRARIES, colors["bars"]):
        parts.append(f'<rect x="{x}" y="36" width="12" height="12" rx="2" fill="{color}"/>')
        parts.append(f'<text x="{x + 17}" y="46">{library}</text>')
        x += 46 + 7 * len(library)
    for tick in (0, 0.5, 1, 1.5, 2, 2.5):
        y = bottom - HEIGHT * tick / MOST
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="e" x="{LEFT - 6}" y="{y + 4:.1f}">{tick:g}x</text>')
    room = (WIDTH - LEFT - RIGHT) / len(SHAPES)
    for index, (shape, values) in enumerate(zip(SHAPES, speeds(page))):
        middle = LEFT + room * (index + 0.5)
        x = middle - BAR * len(LIBRARIES) / 2
        for library, color in zip(LIBRARIES, colors["bars"]):
            if library in values:
                tall = HEIGHT * values[library] / MOST
                kind = "n m" if library == "Unroll" else "m"
                parts.append(
                    f'<rect x="{x + 1:.1f}" y="{bottom - tall:.1f}" width="{BAR - 2}" height="{tall:.1f}" fill="{color}">'
                    f"<title>{library}: {values[library]:.2f}x</title></rect>"
                )
                parts.append(f'<text class="{kind}" x="{x + BAR / 2:.1f}" y="{bottom - tall - 4:.1f}">{values[library]:.2f}</text>')
            else:
                parts.append(f'<text class="m" x="{x + BAR / 2:.1f}" y="{bottom - 4}"><title>{library}: not offered</title>n/a</text>')
            x += BAR
        parts.append(f'<text class="n m" x="{middle:.1f}" y="{bottom + 18}">{escape(shape[2])}</text>')
        parts.append(f'<text class="m" x="{middle:.1f}" y="{bottom + 34}">{escape(shape[3])}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + FOOT}" width="{WIDTH}" '
        f'height="{bottom + FOOT}" role="img" aria-label="Speed compared with PyTorch">\n<style>{style}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main():
    results = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "RESULTS.md")
    folder = sys.argv[2] if len(sys.argv) > 2 else HERE
    with open(results) as file:
        page = file.read()
    for name, colors in COLORS.items():
        with open(os.path.join(folder, f"speed-{name}.svg"), "w") as file:
            file.write(svg(page, colors))


if __name__ == "__main__":
    main()
