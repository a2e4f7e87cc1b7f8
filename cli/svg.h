/* What all pictures share: an SVG page of text and paths without scripts, whose colours follow the reader's light or
 * dark scheme. Lengths are in pixels. */
#ifndef CLI_SVG_H
#define CLI_SVG_H
#include <stdio.h>

enum { SVG_WIDTH = 880, SVG_LEFT = 64, SVG_RIGHT = 856, SVG_MARGIN = 24, SVG_COLOURS = 10 };

/* Begins the page's title, which the caller writes; then begins the page. "</svg>" ends it. */
void svg_begin(FILE *out, int height);
void svg_begin_page(FILE *out, int height);
/* With <, & and " as they are written there. */
void svg_write(FILE *out, const char *text);
void svg_text(FILE *out, const char *class, double x, double y, const char *text);
/* A label on an axis: all of an axis have as many decimals as their distance needs. */
void svg_tick(FILE *out, const char *class, double x, double y, double value, double distance);

#endif
