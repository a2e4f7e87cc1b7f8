/* "Did you mean": finds the word nearest to a misspelled one among words that the caller offers one by one. */
#pragma once

struct suggestion {
    const char *word;    /* the misspelled word */
    const char *nearest; /* NULL until a near word is offered */
    int distance;        /* of nearest: letters inserted, omitted, replaced or swapped */
};

struct suggestion suggestion_for(const char *word);
/* The candidate must outlive the suggestion. */
void suggestion_offer(struct suggestion *suggestion, const char *candidate);
