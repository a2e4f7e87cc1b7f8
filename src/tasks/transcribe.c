/* The task transcribe: a text for a sequence of numbers, such as the frames of a sound, without knowing at which step
 * each character is. The text is an unaligned column of the data. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/words.h"
#include "model/model.h"
#include "tasks/examples/sequence_part.h"
#include "tasks/task_table.h"
#include "tasks/transcripts.h"

enum { BEAM = 8, BEAM_MAX = 256 };

struct transcribe_part {
    struct sequence_part base;
    int beam;
    int32_t *label; /* [steps] of a row */
    char *text[2];  /* the true one and the answer */
    size_t room;    /* of a text */
    struct edits edits;
    json_t *examples; /* the first ones with their answers, for people */
    unroll_status status;
};

/* ---- the columns ---- */

struct transcribe_options {
    char target[COLUMN_NAME];
    double beam;
};

static const struct key transcribe_keys[] = {{.name = "target",
                                              .text = COLUMN_NAME,
                                              .offset = offsetof(struct transcribe_options, target),
                                              .about = "target column"},
                                             {.name = "beam",
                                              .min = 1,
                                              .max = BEAM_MAX,
                                              .offset = offsetof(struct transcribe_options, beam),
                                              .about = "transcripts kept at each step; default 8, 1: the best path"},
                                             {0}};

static bool is_transcript(const unroll_dataset *data, const struct column *column)
{
    (void)data;
    return column->type == COLUMN_TOKENS && column->begin != NULL;
}

static unroll_status find_target(const unroll_dataset *data, const char *options, const struct column **target)
{
    return target_find(data, "transcribe", transcribe_keys, "a text with its own length (`unaligned`)", options,
                       is_transcript, target);
}

static const struct accepts transcribe_accepts[] = {{.losses = "ctc ", .backward = true, .unused = "stateful bptt "},
                                                    {0}};
static const struct accepts_column transcribe_columns[] = {{.option = "target",
                                                            .kinds = STEP_TOKENS << UNALIGNED,
                                                            .what = "a text with its own length (`unaligned`)",
                                                            .type = "text"},
                                                           {0}};

static int suits_transcribe(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct column *target = target_of(data, is_transcript);
    if (target == NULL || data->columns < 2)
        return 0;
    snprintf(why, TASK_WHY, "a text for each sequence in '%s'", target->name);
    return SUITS_SURELY;
}

/* ---- the network ---- */

static unroll_status transcribe_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                        unroll_task_defaults *defaults)
{
    static const unroll_model_config standard = {.cell = "lstm", .layers = 2, .hidden = 128, .bidirectional = 1};
    const struct column *target;
    TRY(find_target(data, options, &target));
    TRY(sequence_network(data, target, NULL, &standard, spec));
    TRY(accepts_spec(&task_transcribe, transcribe_accepts, spec));
    spec->output = target->vocabulary_size + 1; /* and the blank */
    sequence_defaults(data, 0, defaults);
    return UNROLL_OK;
}

/* Stores the target, its characters, the features and the beam. */
static unroll_status transcribe_fit(const struct task_request *request, json_t **schema)
{
    struct transcribe_options chosen = {.beam = BEAM};
    const struct column *target;
    struct members members;
    TRY(find_target(request->data, request->options, &target));
    TRY(key_values_read(request->options, "the task transcribe", transcribe_keys, &chosen));
    TRY(members_find(request, PART_TRAINING, NULL, &members));
    unroll_status status = sequence_schema(&members, target, NULL, schema);
    if (status == UNROLL_OK)
        json_object_update_new(*schema, json_pack("{s:b, s:i}", "blank", 1, "beam", (int)chosen.beam));
    members_end(&members);
    return status;
}

/* ---- batches ---- */

/* Returns the number of labels of a sequence, or -1 if they need more steps than it has. */
static int64_t labels_of(const struct sequence_part *p, size_t sequence, size_t steps)
{
    const size_t first = p->target->begin[sequence], end = p->target->begin[sequence + 1];
    size_t needs = end - first;
    for (size_t i = first + 1; i < end; i++) needs += column_id(p->target, i) == column_id(p->target, i - 1);
    return needs <= steps ? (int64_t)(end - first) : -1;
}

/* The targets of a row are its labels, then blanks; -1 leaves the row out. */
static void fill_transcripts(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct transcribe_part *p = (const struct transcribe_part *)part;
    const struct batch_place place = sequence_place(&p->base, epoch, number);
    const size_t rows = (size_t)place.rows;
    sequence_fill(&p->base, epoch, number, batch);
    for (size_t row = 0; row < rows; row++) {
        struct sequence_row at = {0};
        const bool is_there = sequence_row(&p->base, &place, (int)row, &at) && p->base.target;
        const int64_t labels = is_there ? labels_of(&p->base, at.sequence, (size_t)at.length) : -1;
        const size_t first = is_there ? p->base.target->begin[at.sequence] : 0;
        for (size_t t = 0; t < (size_t)place.steps; t++)
            batch->classes[t * rows + row] = (int64_t)t < labels ? column_id(p->base.target, first + t) + 1 : 0;
        if (labels < 0)
            batch->classes[row] = -1;
    }
}

static void end_transcribe_part(struct part *part)
{
    struct transcribe_part *p = (struct transcribe_part *)part;
    release(p->label);
    release(p->text[0]);
    release(p->text[1]);
    json_decref(p->examples);
    sequence_part_end(&p->base);
}

/* Counts the transcripts with characters that the training lacks, which no answer has. */
static void count_unknown(const struct transcribe_part *p, enum part_of which)
{
    const struct column *text = p->base.target;
    size_t unknown = 0;
    for (size_t i = 0; i < p->base.members.count; i++) {
        const size_t s = member_at(&p->base.members, i);
        bool found = false;
        for (size_t entry = text->begin[s]; entry < text->begin[s + 1]; entry++) {
            const int32_t id = column_id(text, entry);
            found |= id < 0 || strcmp(p->base.label[id], UNKNOWN_WORD) == 0;
        }
        unknown += found;
    }
    if (unknown)
        add_note("%zu of %zu transcripts%s have characters that the model does not know", unknown,
                 p->base.members.count, part_words(which));
}

/* Counts the transcripts that are longer than their steps allow, and finds the longest text. */
static void count_transcripts(struct transcribe_part *p, enum part_of which, size_t *longest)
{
    size_t fitting = 0;
    for (size_t i = 0; i < p->base.members.count; i++) {
        const struct step_range steps = member_steps(&p->base.members, i);
        const size_t s = member_at(&p->base.members, i);
        const size_t entries = p->base.target->begin[s + 1] - p->base.target->begin[s];
        fitting += labels_of(&p->base, s, steps.to - steps.from) >= 0;
        *longest = entries > *longest ? entries : *longest;
    }
    if (fitting < p->base.members.count)
        add_note("%zu of %zu transcripts%s are longer than their steps allow and do not count",
                 p->base.members.count - fitting, p->base.members.count, part_words(which));
    p->base.part.examples = fitting;
    count_unknown(p, which);
}

static unroll_status open_transcribe_part(const struct task_request *request, enum part_of which, struct part *part)
{
    struct transcribe_part *p = (struct transcribe_part *)part;
    size_t longest = 1, label = 1;
    int64_t beam;
    TRY(sequence_part_open(request, which, STEP_TOKENS << UNALIGNED, (struct windows){0}, &p->base));
    if (p->base.members.count == 0)
        return UNROLL_OK;
    TRY(json_field_integer(p->base.schema, "the model's schema", "beam", 1, BEAM_MAX, &beam));
    p->beam = (int)beam;
    for (size_t i = 0; i < p->base.members.count; i++) {
        const struct step_range steps = member_steps(&p->base.members, i);
        longest = steps.to - steps.from > longest ? steps.to - steps.from : longest;
    }
    TRY(ALLOCATE(p->label, longest, "for the labels of %zu steps", longest));
    if (p->base.target)
        count_transcripts(p, which, &longest);
    for (int i = 0; i < p->base.classes; i++) {
        const size_t length = strlen(p->base.label[i]) + 1;
        label = length > label ? length : label;
    }
    p->room = longest * label + 1;
    TRY(ALLOCATE(p->text[0], p->room, "for a transcript"));
    TRY(ALLOCATE(p->text[1], p->room, "for a transcript"));
    p->base.part.fill = fill_transcripts;
    return UNROLL_OK;
}

static unroll_status transcribe_open(const struct task_request *request, enum part_of which, struct part **part)
{
    return sequence_open(request, which, sizeof(struct transcribe_part), open_transcribe_part, end_transcribe_part,
                         part);
}

/* ---- answers ---- */

/* Appends a label to a text; words are separated by blanks. */
static char *append(const struct transcribe_part *p, char *at, const char *begin, int32_t class)
{
    const struct column *text = p->base.target;
    if (at > begin && text && text->kind != CUT_CHARACTERS)
        *at++ = ' ';
    const size_t length = strlen(p->base.label[class - 1]);
    memcpy(at, p->base.label[class - 1], length + 1);
    return at + length;
}

/* Writes the true transcript of a sequence and that of its logits. */
static unroll_status transcribe_row(struct transcribe_part *p, const float *results, int rows, int row,
                                    const struct sequence_row *at)
{
    const int classes = p->base.classes + 1;
    const size_t stride = (size_t)rows * (size_t)classes, steps = (size_t)at->length;
    const float *z = results + (size_t)row * (size_t)classes;
    size_t labels = 0;
    *p->text[0] = *p->text[1] = '\0';
    if (p->base.target) {
        const size_t first = p->base.target->begin[at->sequence], last = p->base.target->begin[at->sequence + 1];
        char *to = p->text[0];
        for (size_t i = first; i < last; i++)
            if (column_id(p->base.target, i) >= 0)
                to = append(p, to, p->text[0], column_id(p->base.target, i) + 1);
    }
    if (p->beam > 1)
        TRY(transcript_of_beam(z, stride, steps, classes, p->beam, p->label, &labels));
    else
        labels = transcript_of_path(z, stride, steps, classes, p->label);
    char *to = p->text[1];
    for (size_t i = 0; i < labels; i++) to = append(p, to, p->text[1], p->label[i]);
    return UNROLL_OK;
}

static json_t *answer_of(const struct transcribe_part *p)
{
    json_t *answer = json_pack("{s:s}", "text", p->text[1]);
    if (answer && p->base.target)
        json_object_set_new(answer, "truth", json_string(p->text[0]));
    return answer;
}

static void transcribe_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    enum { KEPT = 8 };
    struct transcribe_part *p = (struct transcribe_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    struct sequence_row at;
    (void)batch;
    if (number == 0) {
        p->edits = (struct edits){0};
        p->status = UNROLL_OK;
        json_decref(p->examples);
        p->examples = json_array();
    }
    for (int row = 0; row < place.rows && p->status == UNROLL_OK; row++) {
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        p->status = transcribe_row(p, results, place.rows, row, &at);
        if (p->status == UNROLL_OK)
            p->status = edits_add(&p->edits, p->text[0], p->text[1]);
        if (json_array_size(p->examples) < KEPT)
            json_array_append_new(p->examples, answer_of(p));
    }
}

static double rate_of(int64_t edits, int64_t length) { return length ? (double)edits / (double)length : (double)NAN; }

static void transcribe_score(const struct part *part, double loss, bool observed, unroll_evaluation *e)
{
    const struct transcribe_part *p = (const struct transcribe_part *)part;
    const double none = (double)NAN;
    observed = observed && p->status == UNROLL_OK;
    *e = (unroll_evaluation){
        .loss = loss,
        .floor = 1,
        .naive = "no text",
        .examples = (int64_t)part->examples,
        .metrics = 4,
        .metric = {{"wer", "WER ", "", 4, observed ? rate_of(p->edits.words, p->edits.of_words) : none},
                   {"cer", "CER ", "", 4, observed ? rate_of(p->edits.characters, p->edits.of_characters) : none},
                   {"loss", "loss ", "", 4, loss},
                   {"examples", "", " transcripts", 0, (double)part->examples}}};
}

static json_t *transcribe_details(const struct part *part)
{
    const struct transcribe_part *p = (const struct transcribe_part *)part;
    return p->examples ? json_pack("{s:O}", "transcripts", p->examples) : NULL;
}

static unroll_status transcribe_answer(struct part *part, int64_t number, const struct task_batch *batch,
                                       const float *results, answer_taker *take, void *arg)
{
    struct transcribe_part *p = (struct transcribe_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    struct sequence_row at;
    (void)batch;
    for (int row = 0; row < place.rows; row++) {
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        TRY(transcribe_row(p, results, place.rows, row, &at));
        TRY(sequence_give(&p->base, &at, NO_STEP, answer_of(p), take, arg));
    }
    return UNROLL_OK;
}

static void transcribe_line(const json_t *answer, FILE *file)
{
    sequence_line_keys(answer, 0, file);
    fprintf(file, "%s\n", json_string_value(json_object_get(answer, "text")));
}

const struct task task_transcribe = {.name = "transcribe",
                                     .about = "a text for each sequence",
                                     .keeps = true,
                                     .keys = transcribe_keys,
                                     .augments = true,
                                     .divides = true,
                                     .item = sequence_item,
                                     .suits = suits_transcribe,
                                     .network = transcribe_network,
                                     .fit = transcribe_fit,
                                     .accepts = transcribe_accepts,
                                     .columns = transcribe_columns,
                                     .open = transcribe_open,
                                     .observe = transcribe_observe,
                                     .score = transcribe_score,
                                     .details = transcribe_details,
                                     .answer = transcribe_answer,
                                     .line = transcribe_line};
