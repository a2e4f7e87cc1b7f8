/* See transcripts.h. */
#include "tasks/transcripts.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "tasks/scores.h"

size_t transcript_of_path(const float *z, size_t stride, size_t steps, int classes, int32_t *label)
{
    size_t labels = 0;
    int before = 0;
    for (size_t t = 0; t < steps; t++) {
        const int best = largest_of(z + t * stride, classes);
        if (best && best != before)
            label[labels++] = best;
        before = best;
    }
    return labels;
}

/* ---- prefix beam search ------------------------------------------------------------------ */

/* A prefix is a node of a tree: its parent and its closing label. */
struct prefix_node {
    int32_t parent, label, child, sibling; /* -1: none */
    int32_t place;                         /* among the candidates of the step; -1: none */
};

struct prefix {
    int32_t node;
    double blank, own; /* probability of its paths that end in a blank, and in its label */
};

struct prefix_beam {
    struct prefix_node *node;
    struct prefix *now, *next; /* the best ones; candidates */
    size_t nodes, room, kept, candidates, most;
};

/* Returns the candidate of a node, a new one if the step has none. */
static struct prefix *candidate_of(struct prefix_beam *b, int32_t node)
{
    if (b->node[node].place < 0) {
        b->node[node].place = (int32_t)b->candidates;
        b->next[b->candidates++] = (struct prefix){.node = node};
    }
    return &b->next[b->node[node].place];
}

/* Finds or adds the prefix that is longer by a label. There is room for all nodes of a step. */
static int32_t longer(struct prefix_beam *b, int32_t node, int32_t label)
{
    for (int32_t child = b->node[node].child; child >= 0; child = b->node[child].sibling)
        if (b->node[child].label == label)
            return child;
    const int32_t made = (int32_t)b->nodes++;
    b->node[made] = (struct prefix_node){node, label, -1, b->node[node].child, -1};
    b->node[node].child = made;
    return made;
}

static unroll_status make_room(struct prefix_beam *b, size_t more)
{
    struct prefix_node *grown;
    if (b->nodes + more <= b->room)
        return UNROLL_OK;
    const size_t room = 2 * (b->nodes + more);
    TRY(ALLOCATE(grown, room, "for %zu prefixes", room));
    if (b->nodes)
        memcpy(grown, b->node, b->nodes * sizeof *grown);
    release(b->node);
    b->node = grown;
    b->room = room;
    return UNROLL_OK;
}

static double total_of(const struct prefix *p) { return p->blank + p->own; }

/* Moves the best candidates to `now`, divided by the largest; of equal ones the older prefix. */
static void keep_best(struct prefix_beam *b)
{
    for (size_t i = 0; i < b->candidates; i++) b->node[b->next[i].node].place = -1;
    for (b->kept = 0; b->kept < b->most && b->kept < b->candidates; b->kept++) {
        size_t best = b->kept;
        for (size_t i = b->kept + 1; i < b->candidates; i++) {
            const double more = total_of(&b->next[i]) - total_of(&b->next[best]);
            if (more > 0 || (!(more < 0) && b->next[i].node < b->next[best].node))
                best = i;
        }
        const struct prefix found = b->next[best];
        b->next[best] = b->next[b->kept];
        b->next[b->kept] = b->now[b->kept] = found;
    }
    const double largest = total_of(&b->now[0]);
    for (size_t i = 0; i < b->kept && largest > 0; i++) b->now[i].blank /= largest, b->now[i].own /= largest;
}

/* Extends all prefixes by a step with probabilities y. */
static unroll_status extend_all(struct prefix_beam *b, const double *y, int classes)
{
    const double least = 1e-4;
    TRY(make_room(b, b->kept * (size_t)classes));
    b->candidates = 0;
    for (size_t i = 0; i < b->kept; i++) {
        const struct prefix p = b->now[i];
        const int32_t last = b->node[p.node].label;
        struct prefix *same = candidate_of(b, p.node);
        same->blank += total_of(&p) * y[0];
        if (last > 0)
            same->own += p.own * y[last];
        for (int32_t k = 1; k < classes; k++)
            if (y[k] >= least)
                candidate_of(b, longer(b, p.node, k))->own += (k == last ? p.blank : total_of(&p)) * y[k];
    }
    keep_best(b);
    return UNROLL_OK;
}

/* Writes the labels of the best prefix. */
static size_t spell(const struct prefix_beam *b, int32_t *label)
{
    size_t labels = 0, at;
    for (int32_t node = b->now[0].node; b->node[node].parent >= 0; node = b->node[node].parent) labels++;
    at = labels;
    for (int32_t node = b->now[0].node; at > 0; node = b->node[node].parent) label[--at] = b->node[node].label;
    return labels;
}

unroll_status transcript_of_beam(const float *z, size_t stride, size_t steps, int classes, int beam, int32_t *label,
                                 size_t *labels)
{
    struct prefix_beam b = {.most = (size_t)beam, .kept = 1};
    double *y = NULL;
    unroll_status status = make_room(&b, 1);
    if (status == UNROLL_OK)
        status = ALLOCATE(b.now, b.most, "for %d prefixes", beam);
    if (status == UNROLL_OK)
        status = ALLOCATE(b.next, b.most * (size_t)classes, "for %d prefixes", beam);
    if (status == UNROLL_OK)
        status = ALLOCATE(y, (size_t)classes, "for a step");
    if (status == UNROLL_OK) {
        b.node[b.nodes++] = (struct prefix_node){-1, 0, -1, -1, -1};
        b.now[0] = (struct prefix){.blank = 1};
    }
    for (size_t t = 0; t < steps && status == UNROLL_OK; t++) {
        softmax_of(z + t * stride, classes, y);
        status = extend_all(&b, y, classes);
    }
    if (status == UNROLL_OK)
        *labels = spell(&b, label);
    release(b.node);
    release(b.now);
    release(b.next);
    release(y);
    return status;
}

/* ---- edits --------------------------------------------------------------------------------- */

struct text_piece {
    const char *at;
    size_t length;
};

/* Divides a text into words or characters. Returns their number. */
static size_t divide(const char *text, bool words, struct text_piece *piece)
{
    size_t count = 0, end = strlen(text);
    text += strspn(text, " ");
    for (end = strlen(text); end > 0 && text[end - 1] == ' ';) end--;
    for (size_t at = 0, length; at < end; at += length) {
        length = words ? strcspn(text + at, " ") : 1;
        while (!words && ((unsigned char)text[at + length] & 0xc0) == 0x80) length++;
        if (words && length == 0) {
            length = 1;
            continue;
        }
        piece[count++] = (struct text_piece){text + at, length < end - at ? length : end - at};
    }
    return count;
}

static bool is_same(const struct text_piece *a, const struct text_piece *b)
{
    return a->length == b->length && memcmp(a->at, b->at, a->length) == 0;
}

/* Returns the least number of insertions, deletions and replacements. row: [m + 1] */
static int64_t distance(const struct text_piece *a, size_t n, const struct text_piece *b, size_t m, int64_t *row)
{
    for (size_t k = 0; k <= m; k++) row[k] = (int64_t)k;
    for (size_t i = 1; i <= n; i++) {
        int64_t corner = row[0];
        row[0] = (int64_t)i;
        for (size_t k = 1; k <= m; k++) {
            const int64_t replaced = corner + !is_same(&a[i - 1], &b[k - 1]);
            const int64_t other = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
            corner = row[k];
            row[k] = replaced < other ? replaced : other;
        }
    }
    return row[m];
}

unroll_status edits_add(struct edits *edits, const char *truth, const char *answer)
{
    const size_t a = strlen(truth) + 1, b = strlen(answer) + 1;
    struct text_piece *piece;
    int64_t *row;
    TRY(ALLOCATE(piece, a + b, "to compare transcripts"));
    const unroll_status status = ALLOCATE(row, b + 1, "to compare transcripts");
    for (int words = 0; words < 2 && status == UNROLL_OK; words++) {
        const size_t n = divide(truth, words, piece), m = divide(answer, words, piece + a);
        const int64_t found = distance(piece, n, piece + a, m, row);
        *(words ? &edits->words : &edits->characters) += found;
        *(words ? &edits->of_words : &edits->of_characters) += (int64_t)n;
    }
    release(piece);
    release(row);
    return status;
}
