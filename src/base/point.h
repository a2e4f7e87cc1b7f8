/* Numbers in files and printed sources have decimal points, also in a program whose locale has commas. Between begin
 * and end printf, strtod and their kin of this thread know no locale. Not for what people read. */
#ifndef BASE_POINT_H
#define BASE_POINT_H
#include <locale.h>

static inline locale_t point_begin(void) { return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); }

/* Takes what begin gave. */
static inline void point_end(locale_t before) { freelocale(uselocale(before)); }

#endif
