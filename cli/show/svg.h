/* Common to all pictures: an SVG page of text and paths without scripts, whose colors follow the reader's light or
 * dark scheme. Lengths are in pixels. */
#pragma once
#include <stdio.h>

enum { SVG_WIDTH = 880, SVG_LEFT = 64, SVG_RIGHT = 856, SVG_MARGIN = 24, SVG_COLOURS = 10 };

/* svg_begin begins the page's title, which the caller writes; svg_begin_page then begins the page. "</svg>" ends it. */
void svg_begin(FILE *out, int height);
void svg_begin_page(FILE *out, int height);
/* Writes a text with <, & and " escaped. */
void svg_write(FILE *out, const char *text);
void svg_text(FILE *out, const char *class, double x, double y, const char *text);
/* Writes a label of an axis, with the number of decimals that the distance between labels needs. */
void svg_tick(FILE *out, const char *class, double x, double y, double value, double distance);
