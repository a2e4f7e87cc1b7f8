/* "Did you mean": the nearest of some words to a misspelt one. Not a dictionary: the caller offers the
 * words one by one. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

struct suggestion {
    const char *word;    /* what was written */
    const char *nearest; /* NULL while nothing offered is near enough */
    int distance;        /* of nearest: letters inserted, left out, replaced or swapped */
};

struct suggestion suggestion_for(const char *word);
/* The candidate must outlive the suggestion. */
void suggestion_offer(struct suggestion *suggestion, const char *candidate);

#endif
