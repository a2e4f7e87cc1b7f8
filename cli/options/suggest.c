/* Edit distance with swaps of adjacent letters (optimal string alignment), and the nearest of several words. Words
 * of more than WORD_LONGEST letters are not compared. */
#include "cli/options/suggest.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_LONGEST = 40 };

static int min(int a, int b) { return a < b ? a : b; }

/* d[i][j] is the distance between the first i letters of a and the first j letters of b. */
static int distance(const char *a, const char *b)
{
    int d[WORD_LONGEST + 1][WORD_LONGEST + 1];
    int rows = (int)strlen(a), columns = (int)strlen(b);
    for (int i = 0; i <= rows; i++) d[i][0] = i;
    for (int j = 0; j <= columns; j++) d[0][j] = j;
    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= columns; j++) {
            d[i][j] = min(d[i - 1][j], d[i][j - 1]) + 1;
            d[i][j] = min(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[rows][columns];
}

struct suggestion suggestion_for(const char *word) { return (struct suggestion){.word = word}; }

void suggestion_offer(struct suggestion *suggestion, const char *candidate)
{
    size_t length = strlen(suggestion->word);
    if (length > WORD_LONGEST || strlen(candidate) > WORD_LONGEST)
        return;
    /* Accepts one mistake in three letters, and any candidate that begins with the word. */
    int found = distance(suggestion->word, candidate);
    bool begun = length >= 3 && strncmp(suggestion->word, candidate, length) == 0;
    if (begun)
        found = 1;
    if (found > (int)(length + 2) / 3)
        return;
    if (suggestion->nearest == NULL || found < suggestion->distance) {
        suggestion->nearest = candidate;
        suggestion->distance = found;
    }
}
