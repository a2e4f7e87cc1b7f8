/* Decimal points in files and printed sources, whatever the locale. Between begin and end, printf, strtod and similar
 * functions of this thread use the C locale. Not for text that people read. */
#pragma once
#include <locale.h>

static inline locale_t point_begin(void) { return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); }

/* Restores the locale that point_begin returned. */
static inline void point_end(locale_t before) { freelocale(uselocale(before)); }
