#include "cli/show/svg.h"

#include <math.h>

#include "cli/show/console.h"

/* Light and dark. Runs 11 to 20 repeat them, dashed. */
static const char *const colors[SVG_COLOURS][2] = {
    {"#1f6fd6", "#6aa9ff"}, {"#d9480f", "#ff9b5c"}, {"#2b8a3e", "#6fd08c"}, {"#9c36b5", "#d8a1ff"},
    {"#0b8a8f", "#4fd1d6"}, {"#a17400", "#e6c04a"}, {"#d6336c", "#ff8fb8"}, {"#5c6773", "#aab4c0"},
    {"#5546d8", "#a79bff"}, {"#8a4b2a", "#d9a27e"}};

static const char style[] =
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#30363d}\n"
    ".page{fill:#fff}.t{font-size:14px;font-weight:600}.m{fill:#6b7480}\n"
    ".e{text-anchor:end;font-variant-numeric:tabular-nums}.c{text-anchor:middle}\n"
    ".g{stroke:#e6e9ed}.a{stroke:#9aa3ad}\n"
    "path{fill:none;stroke:currentColor;stroke-linejoin:round;stroke-linecap:round}\n"
    ".r{stroke-width:1;opacity:.3}.b{stroke-width:2}.v{stroke-width:1.25}.d .b,.d .v{stroke-dasharray:5 4}\n"
    "circle{fill:#fff;stroke:currentColor;stroke-width:1.5}.best{fill:currentColor}\n"
    ".k{color:#6b7480}.k .r{opacity:.6}\n"
    ".f{stroke:none;fill:currentColor;opacity:.18}.s{fill:currentColor;stroke:none;opacity:.55}\n"
    ".x{font-size:11px}.w{fill:#c92a2a}.h{fill:#1f6fd6}.on{fill:#fff}\n";
static const char dark_style[] =
    "text{fill:#d5dae1}.page{fill:#14171c}.m{fill:#8d96a3}.g{stroke:#272c34}.a{stroke:#59626e}\n"
    "circle{fill:#14171c}.best{fill:currentColor}.k{color:#8d96a3}\n"
    ".w{fill:#ff8787}.h{fill:#6aa9ff}.on{fill:#14171c}\n";

static void write_style(FILE *out)
{
    fprintf(out, "<style>\n%s", style);
    for (int i = 0; i < SVG_COLOURS; i++) fprintf(out, ".c%d{color:%s}", i, colors[i][0]);
    fprintf(out, "\n@media (prefers-color-scheme:dark){\n%s", dark_style);
    for (int i = 0; i < SVG_COLOURS; i++) fprintf(out, ".c%d{color:%s}", i, colors[i][1]);
    fputs("}\n</style>\n", out);
}

void svg_begin(FILE *out, int height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>",
            SVG_WIDTH, height, SVG_WIDTH, height);
}

void svg_begin_page(FILE *out, int height)
{
    fputs("</title>\n", out);
    write_style(out);
    fprintf(out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", SVG_WIDTH, height);
}

void svg_write(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            putc(*text, out);
    }
}

void svg_text(FILE *out, const char *class, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    svg_write(out, text);
    fputs("</text>\n", out);
}

void svg_tick(FILE *out, const char *class, double x, double y, double value, double distance)
{
    int decimals = (int)fmax(0, -floor(log10(distance) + 1e-9));
    char text[NUMBER_TEXT];
    if (distance >= 1e6 || decimals > 5)
        snprintf(text, sizeof text, "%.6g", value);
    else if (distance >= 1000)
        snprintf(text, sizeof text, "%.10gk", value / 1000);
    else
        snprintf(text, sizeof text, "%.*f", decimals, value);
    svg_text(out, class, x, y, fabs(value) < distance / 2 ? "0" : text);
}
