# Draws grouped bars as an SVG: percent of the peak by shape, one bar per library. Needs no plotting library. The colors
# follow the reader's color scheme, so that the chart is readable on light and dark pages.
from xml.sax.saxutils import escape

# For light and dark pages; distinguishable for color-blind readers (after Okabe and Ito).
COLORS = {
    "Unroll": ("#0b5fb0", "#58a6ff"),
    "oneDNN 2": ("#e08a00", "#f0a830"),
    "oneDNN 3": ("#b8860b", "#c9a227"),
    "PyTorch": ("#c44e00", "#ff7b45"),
    "ONNX Runtime": ("#00805a", "#2dbd8c"),
    "OpenVINO": ("#8a5a94", "#c78fd1"),
}
WIDTH, MARGIN, HEIGHT, TITLE, FOOT, BAR_GAP, GROUP_GAP = 860, 44, 170, 34, 30, 1, 16
LEGEND = 34


def slug(name):
    return name.lower().replace(" ", "-")


def style():
    light = "".join(f".{slug(name)}{{fill:{pair[0]}}}" for name, pair in COLORS.items())
    dark = "".join(f".{slug(name)}{{fill:{pair[1]}}}" for name, pair in COLORS.items())
    return (
        "<style>text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-weight:600;font-size:13px;"
        "fill:#24292f}.value{font-size:10px}.grid{stroke:#d0d7de}"
        + light
        + "@media(prefers-color-scheme:dark){text{fill:#9198a1}.title{fill:#e6edf3}.grid{stroke:#3d444d}"
        + dark
        + "}</style>"
    )


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def legend(names):
    parts, x = [], MARGIN
    for name in names:
        parts += [
            f'<rect x="{x}" y="8" width="12" height="12" rx="2" class="{slug(name)}"/>',
            text(x + 17, 18, name),
        ]
        x += 40 + 7 * len(name)
    return parts


def bars(groups, top):
    """Draws the bars, which touch within a group; each has its value above it, and a tooltip."""
    parts, bottom = [], top + TITLE + HEIGHT
    room = (WIDTH - MARGIN - 8) / len(groups)
    for index, (label, values) in enumerate(groups):
        bar = min(26, (room - GROUP_GAP) / max(1, len(values)))
        x = MARGIN + index * room + (room - bar * len(values)) / 2
        parts.append(text(MARGIN + (index + 0.5) * room, bottom + 17, label, anchor="middle"))
        for name, percent in values.items():
            tall = HEIGHT * min(percent, 100) / 100
            parts.append(
                f'<rect x="{x:.1f}" y="{bottom - tall:.1f}" width="{bar - BAR_GAP:.1f}" height="{tall:.1f}" '
                f'class="{slug(name)}"><title>{escape(name)} {percent:.0f}%</title></rect>'
            )
            parts.append(text(x + bar / 2, bottom - tall - 3, f"{percent:.0f}", "value", "middle"))
            x += bar
    return parts


def panel(title, groups, top):
    parts = [text(MARGIN, top + 16, title, "title")]
    for percent in (0, 25, 50, 75, 100):
        y = top + TITLE + HEIGHT * (1 - percent / 100)
        parts += [
            f'<line x1="{MARGIN}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>',
            text(MARGIN - 6, y + 4, f"{percent}%", anchor="end"),
        ]
    return parts + bars(groups, top)


def svg(panels):
    tall = LEGEND + len(panels) * (TITLE + HEIGHT + FOOT)
    used = [name for name in COLORS if any(name in values for _, groups in panels for _, values in groups)]
    parts = legend(used)
    for index, (title, groups) in enumerate(panels):
        parts += panel(title, groups, LEGEND + index * (TITLE + HEIGHT + FOOT))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" width="{WIDTH}" height="{tall}" '
        f'role="img" aria-label="Percent of peak by shape">\n{style()}\n' + "\n".join(parts) + "\n</svg>\n"
    )
