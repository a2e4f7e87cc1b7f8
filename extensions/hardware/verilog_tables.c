/* The tables of the core as hexadecimal words, and the top module with their file names and widths. The fields of
 * each word are in the order in which rtl/unroll_core.v reads them (S_.., R_.., W_..). Decisions are made in
 * hardware_*.c. */
#include "extensions/hardware/verilog.h"
#include "stream/program/integer_tables.h"
#include <stdlib.h>
#include <string.h>

/* ---- widths ---------------------------------------------------------------------------- */

struct widths {
    int xa, ka, ua, nb, pa, sa, wa, ra, sb, fb, slots, ga, upa, rb, tb, vb, ib, sta, uo, pb, cb, ob, qa, vi;
};

static int most(int a, int b) { return a > b ? a : b; }

static int rounds_of(const struct hardware *h)
{
    int rounds = 1;
    for (int i = 0; i < h->stages; i++)
        for (int k = 0; k < h->stage[i].words; k++)
            rounds = most(rounds, h->stage[i].word[k].clock / h->stage[i].interval + 1);
    return rounds;
}

/* Returns the widths in bits of all counters, addresses and fields. */
static struct widths widths_of(const struct hardware *h)
{
    struct widths w = {.xa = bits_of(h->x_words ? h->x_words - 1 : 0),
                       .nb = bits_of(4 * (uint64_t)h->groups + 4) + 1,
                       .pa = bits_of((uint64_t)h->lanes - 1),
                       .sa = bits_of((uint64_t)h->segments),
                       .wa = bits_of(h->weight_words),
                       .ra = bits_of((uint64_t)h->rows),
                       .sb = bits_of((uint64_t)h->row_shifts.count - 1),
                       .fb = bits_of((uint64_t)h->formats.count - 1),
                       .slots = bits_of(h->slots ? h->slots - 1 : 0),
                       .ga = bits_of((uint64_t)h->groups),
                       .upa = bits_of((uint64_t)h->words),
                       .rb = bits_of((uint64_t)rounds_of(h) - 1),
                       .vb = bits_of(h->vector_count ? h->vector_count - 1 : 0),
                       .sta = bits_of(h->states ? h->states - 1 : 0),
                       .pb = bits_of((uint64_t)most(h->p_shifts.count, 1) - 1),
                       .cb = bits_of((uint64_t)most(h->c_shifts.count, 1) - 1),
                       .ob = bits_of((uint64_t)most(h->out_shifts.count, 1) - 1),
                       .vi = bits_of((uint64_t)most(h->lists, 1) - 1)};
    uint32_t length = 1, units = 1, all = 1;
    int temps = 1;
    for (int i = 0; i < h->segments; i++) {
        length = h->segment[i].length > length ? h->segment[i].length : length;
        units = h->segment[i].units > units ? h->segment[i].units : units;
    }
    for (int i = 0; i < h->stages; i++) {
        all = h->stage[i].units > all ? h->stage[i].units : all;
        temps = most(temps, h->stage[i].temps);
    }
    w.ka = bits_of(length - 1);
    w.ua = most(w.ka, bits_of(units - 1));
    w.tb = bits_of((uint64_t)temps - 1);
    w.uo = bits_of(all);
    w.ib = most(most(w.slots, w.tb), w.vb);
    w.qa = bits_of((uint64_t)(h->is_class ? 3 : h->outputs + 2 * h->lanes + 1));
    return w;
}

/* Ports that are never read are removed by synthesis. */
struct uses {
    bool sums, b_slots, c_slots, a_temps, b_temps, c_temps, states, functions;
};

static struct uses uses_of(const struct hardware *h)
{
    struct uses u = {.sums = false};
    for (int i = 0; i < h->rows; i++) u.sums |= h->row[i].adds;
    for (int i = 0; i < h->stages; i++)
        for (int k = 0; k < h->stage[i].words; k++) {
            const struct word *o = &h->stage[i].word[k];
            u.b_slots |= o->b.from == FROM_SLOT;
            u.c_slots |= o->c.from == FROM_SLOT;
            u.a_temps |= o->a.from == FROM_TEMP;
            u.b_temps |= o->b.from == FROM_TEMP;
            u.c_temps |= o->c.from == FROM_TEMP;
            u.states |= o->b.from == FROM_STATE || o->c.from == FROM_STATE;
            u.functions |= o->kind != WORD_SUM;
        }
    return u;
}

/* Lists the memories of the core by name. */
int verilog_memories(const struct verilog *v, struct verilog_memory list[VERILOG_MEMORIES])
{
    const struct hardware *h = v->h;
    const struct widths w = widths_of(h);
    const uint64_t slots = UINT64_C(1) << w.slots, temps = UINT64_C(1) << (w.rb + w.tb);
    const bool loads = strcmp(v->store, "rom") != 0;
    const struct uses u = uses_of(h);
    const struct verilog_memory all[] = {
        {"weights", h->weight_words, 8 * h->lanes, !loads},
        {"rows", (uint64_t)h->rows, h->multiplier_bits + h->bias_bits + w.sb + w.fb + w.slots + 4, true},
        {"segments", (uint64_t)h->segments, 2 * w.xa + w.ka + w.ua + w.nb + w.pa + 7 + (h->skips ? w.vi : 0), true},
        {"groups", (uint64_t)h->groups, 2 * w.upa + 2 * w.uo + 1, true},
        {"words", (uint64_t)h->words, 38 + 3 * w.ib + w.tb + w.pb + w.cb + w.ob + 2 * w.sta + 2 * w.xa + 3, true},
        {"sigmoid", u.functions ? 512 : 0, 27, true},
        {"vectors", h->vector_count, 16, true},
        {"embedding", h->embeds ? (uint64_t)(h->tokens + 1) * (uint64_t)h->embeds : 0, 16, true},
        {"operands", UINT64_C(1) << w.xa, h->program->operand_bits + (h->skips ? 1 + w.ka : 0), false},
        {"operands as products had them", h->skips ? UINT64_C(1) << w.xa : 0, h->program->operand_bits, false},
        {"sums of the lanes", h->skips ? UINT64_C(1) << w.sa : 0, h->accumulator_bits * h->lanes, false},
        {"sums", u.sums ? slots : 0, 32, false},
        {"fields", u.b_slots ? slots : 0, 16, false},
        {"fields, again", u.c_slots ? slots : 0, 16, false},
        {"temporaries", u.a_temps ? temps : 0, 16, false},
        {"temporaries, again", u.b_temps ? temps : 0, 16, false},
        {"temporaries, a third time", u.c_temps ? temps : 0, 16, false},
        {"states", u.states ? UINT64_C(1) << w.sta : 0, 16, false},
        {"units under way", UINT64_C(1) << w.rb, w.uo + 3, false},
        {"results", UINT64_C(1) << w.qa, 33, false}};
    int count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].words)
            list[count++] = all[i];
    return count;
}

/* ---- words ----------------------------------------------------------------------------- */

static void print_word(FILE *file, const struct bits *b)
{
    for (int d = (b->count + 3) / 4; d-- > 0;) {
        int digit = 0;
        for (int i = 0; i < 4; i++) digit |= (4 * d + i < b->count ? b->bit[4 * d + i] : 0) << i;
        fputc("0123456789abcdef"[digit], file);
    }
    fputc('\n', file);
}

/* Prints the table of segments, a word for each. */
static void print_segments(FILE *file, const struct verilog *v)
{
    const struct widths w = widths_of(v->h);
    for (int i = 0; i < v->h->segments; i++) {
        const struct segment *s = &v->h->segment[i];
        struct bits b = {.count = 0};
        bits_put(&b, s->even, w.xa);
        bits_put(&b, s->odd, w.xa);
        bits_put(&b, s->length - 1, w.ka);
        bits_put(&b, s->units ? (int64_t)s->units - 1 : -1, w.ua);
        bits_put(&b, s->need, w.nb);
        bits_put(&b, s->rows - 1, w.pa);
        const bool flags[] = {s->waits_x, s->is_zero, s->is_token, s->is_head, s->ends_list, s->flips, s->frees_x};
        for (size_t k = 0; k < sizeof flags; k++) bits_put(&b, flags[k], 1);
        if (v->h->skips)
            bits_put(&b,
                     s->vector == ABSENT_VECTOR ? 0
                                                : hardware_list(v->h, v->h->stage[s->stage].source[s->source].vector),
                     w.vi);
        print_word(file, &b);
    }
}

static void print_rows(FILE *file, const struct verilog *v)
{
    const struct widths w = widths_of(v->h);
    for (int i = 0; i < v->h->rows; i++) {
        const struct row *r = &v->h->row[i];
        struct bits b = {.count = 0};
        bits_put(&b, r->multiplier, v->h->multiplier_bits);
        bits_put(&b, r->bias, v->h->bias_bits);
        bits_put(&b, r->shift, w.sb);
        bits_put(&b, r->format, w.fb);
        bits_put(&b, r->slot, w.slots);
        const bool flags[] = {r->adds, r->is_final, r->is_head, r->is_last};
        for (size_t k = 0; k < sizeof flags; k++) bits_put(&b, flags[k], 1);
        print_word(file, &b);
    }
}

static void print_groups(FILE *file, const struct verilog *v)
{
    const struct widths w = widths_of(v->h);
    for (int i = 0; i < v->h->groups; i++) {
        const struct group *g = &v->h->group[i];
        const struct stage *s = &v->h->stage[g->stage];
        struct bits b = {.count = 0};
        bits_put(&b, s->base, w.upa);
        bits_put(&b, s->interval - 1, w.upa);
        bits_put(&b, g->units - 1, w.uo);
        bits_put(&b, g->first, w.uo);
        bits_put(&b, g->is_last, 1);
        print_word(file, &b);
    }
}

static void put_operand(struct bits *b, const struct word_operand *o, bool is_a, int width)
{
    static const uint8_t of_a[] = {[FROM_TEMP] = 0, [FROM_IMMEDIATE] = 1, [FROM_WEIGHTS] = 2, [FROM_ONE] = 3};
    static const uint8_t of_bc[] = {[FROM_SLOT] = 0, [FROM_TEMP] = 1, [FROM_STATE] = 2,
                                    [FROM_ONE] = 3,  [FROM_ZERO] = 3, [FROM_IMMEDIATE] = 3};
    bits_put(b, is_a ? of_a[o->from] : of_bc[o->from], 2);
    bits_put(b, o->from == FROM_STATE ? 0 : o->at, width);
}

/* Packs a word of a unit's program into its bits. */
static void put_word(struct bits *b, const struct widths *w, const struct stage *s, const struct word *o)
{
    const int last = s->words; /* words of a unit */
    int latest = 0;
    for (int i = 0; i < last; i++) latest = most(latest, s->word[i].clock);
    const struct word_operand *state = o->b.from == FROM_STATE ? &o->b : o->c.from == FROM_STATE ? &o->c : NULL;
    put_operand(b, &o->a, true, w->ib);
    put_operand(b, &o->b, false, w->ib);
    put_operand(b, &o->c, false, w->ib);
    bits_put(b, o->immediate, 16);
    bits_put(b, o->kind, 2);
    bits_put(b, o->minus, 1);
    bits_put(b, o->limit, 2);
    const bool flags[] = {o->temp >= 0, o->state >= 0, o->even >= 0, o->clock == latest, o->c.from == FROM_ZERO};
    for (size_t k = 0; k < sizeof flags; k++) bits_put(b, flags[k], 1);
    bits_put(b, o->clock / s->interval, 4);
    bits_put(b, o->temp, w->tb);
    bits_put(b, o->p_shift, w->pb);
    bits_put(b, o->c_shift, w->cb);
    bits_put(b, o->out_shift, w->ob);
    bits_put(b, o->left, 3);
    bits_put(b, state ? state->at : 0, w->sta);
    bits_put(b, o->state < 0 ? 0 : o->state, w->sta);
    bits_put(b, o->even < 0 ? 0 : o->even, w->xa);
    bits_put(b, o->odd < 0 ? 0 : o->odd, w->xa); /* with skipping: the list */
}

static void print_words(FILE *file, const struct verilog *v)
{
    const struct widths w = widths_of(v->h);
    struct bits empty = {.count = 0};
    put_word(&empty, &w, &(struct stage){.interval = 1}, &(struct word){.temp = -1});
    memset(empty.bit, 0, sizeof empty.bit);
    for (int i = 0; i < v->h->stages; i++)
        for (int j = 0; j < v->h->stage[i].interval && !v->h->stage[i].is_head; j++) {
            const struct stage *s = &v->h->stage[i];
            struct bits b = empty;
            for (int k = 0; k < s->words; k++)
                if (s->word[k].clock % s->interval == j) {
                    b.count = 0;
                    put_word(&b, &w, s, &s->word[k]);
                }
            print_word(file, &b);
        }
}

static void print_numbers(FILE *file, const int16_t *numbers, size_t count, size_t all)
{
    for (size_t i = 0; i < all; i++) fprintf(file, "%04x\n", i < count ? (uint16_t)numbers[i] : 0);
}

static void print_vectors(FILE *file, const struct verilog *v)
{
    print_numbers(file, v->h->vectors, v->h->vector_count, (size_t)1 << widths_of(v->h).vb);
}

static void print_weights(FILE *file, const struct verilog *v)
{
    const struct hardware *h = v->h;
    for (size_t i = 0; i < h->weight_words; i++) {
        for (int lane = h->lanes; lane-- > 0;) fprintf(file, "%02x", h->weights[i * (size_t)h->lanes + (size_t)lane]);
        fputc('\n', file);
    }
}

/* Prints a point of the half sigmoid and the difference to the next one. */
static void print_sigmoid(FILE *file, const struct verilog *v)
{
    (void)v;
    for (int i = 0; i < 512; i++) {
        const unsigned low = half_sigmoid_table[i], high = half_sigmoid_table[i + 1];
        fprintf(file, "%07x\n", low | (high - low) << 16);
    }
}

/* Prints rows of the embedding as the integer program uses them, followed by zeros for an invalid token. */
static void print_embedding(FILE *file, const struct verilog *v)
{
    const struct program *p = v->h->program;
    const struct act *a = p->act;
    while (a->kind != ACT_EMBED) a++;
    for (int t = 0; t <= v->h->tokens; t++)
        for (uint32_t i = 0; i < a->count; i++) fprintf(file, "%04x\n", (uint16_t)embedded_number(p, a, t, i));
}

static const struct {
    const char *name;
    void (*print)(FILE *, const struct verilog *);
} printers[] = {{"weights", print_weights}, {"segments", print_segments},  {"rows", print_rows},
                {"groups", print_groups},   {"words", print_words},        {"sigmoid", print_sigmoid},
                {"vectors", print_vectors}, {"embedding", print_embedding}};
const char *const verilog_tables[] = {"weights", "segments", "rows",      "groups", "words",
                                      "sigmoid", "vectors",  "embedding", NULL};

bool verilog_has_table(const struct verilog *v, const char *name)
{
    return strcmp(name, "vectors") == 0     ? v->h->vector_count > 0
           : strcmp(name, "embedding") == 0 ? v->h->embeds > 0
                                            : true;
}

void print_verilog_table(FILE *file, const struct verilog *v, const char *name)
{
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++)
        if (!strcmp(printers[i].name, name))
            printers[i].print(file, v);
}

/* ---- the top module -------------------------------------------------------------------- */

static void print_shifts(FILE *file, const char *name, const struct shift_list *list)
{
    fprintf(file, "    .%s(256'h", name);
    for (int i = MAX_SHIFTS; i-- > 0;) fprintf(file, "%02x", i < list->count ? (uint8_t)list->shift[i] : 0);
    fputs("),\n", file);
}

static int most_left(const struct shift_list *list)
{
    int left = 0;
    for (int i = 0; i < list->count; i++) left = most(left, -list->shift[i]);
    return left;
}

/* Prints 16 bits for each list: the start of its banks, and the threshold of differences. */
static void print_lists(FILE *file, const struct hardware *h)
{
    unsigned even[MAX_LISTS] = {0}, odd[MAX_LISTS] = {0}, threshold[MAX_LISTS] = {0};
    for (int i = 0; i < h->lists; i++) {
        even[i] = (unsigned)h->x_base[h->list[i]];
        odd[i] = even[i] + h->program->vector[h->list[i]].size;
        threshold[i] = (unsigned)operand_threshold(h->program, h->list[i]);
    }
    const struct {
        const char *name;
        const unsigned *value;
    } all[] = {{"EVEN", even}, {"ODD", odd}, {"THRESHOLDS", threshold}};
    fprintf(file, "    .DELTA(1), .LISTS(%d), .VI(%d)", h->lists, widths_of(h).vi);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        fprintf(file, ", .%s(256'h", all[k].name);
        for (int i = MAX_LISTS; i-- > 0;) fprintf(file, "%04x", all[k].value[i]);
        fputs(")", file);
    }
    fputs(",\n", file);
}

/* Prints the parameters of the core. */
static void print_sizes(FILE *file, const struct verilog *v)
{
    const struct hardware *h = v->h;
    const struct widths w = widths_of(h);
    const int *segment = h->first_segment, *word = h->first_word, *row = h->first_row;
    const int second = h->embeds || !h->tokens ? h->x_width : 0; /* start of the second bank of x */
    fprintf(file,
            "    .P(%d), .HOLDS(%d), .X(%d), .Y(%d), .CLASS(%d), .TOKENS(%d), .EMBEDS(%d), .OB(%d), .AB(%d), .MB(%d), "
            ".BB(%d),\n",
            h->lanes, h->holds, h->x_width, h->outputs, h->is_class, h->tokens, h->embeds > 0, h->program->operand_bits,
            h->accumulator_bits, h->multiplier_bits, h->bias_bits);
    fprintf(file,
            "    .XA(%d), .KA(%d), .UA(%d), .NB(%d), .PA(%d), .SEGS(%d), .SA(%d), .HEAD(%d), .LATE(%d), .LATES(%d),\n",
            w.xa, w.ka, w.ua, w.nb, w.pa, h->segments, w.sa, segment[LIST_HEAD], segment[LIST_LATE],
            segment[LIST_LATE] < h->segments);
    fprintf(file, "    .WD(%zu), .WA(%d), .WHEAD(%d), .WLATE(%d), .RD(%d), .RA(%d), .RHEAD(%d), .RLATE(%d),\n",
            h->weight_words, w.wa, word[LIST_HEAD], word[LIST_LATE], h->rows, w.ra, row[LIST_HEAD], row[LIST_LATE]);
    fprintf(
        file,
        "    .SB(%d), .FB(%d), .SLOTS_A(%d), .GROUPS(%d), .GA(%d), .UPD(%d), .UPA(%d), .RB(%d), .TB(%d), .VB(%d), "
        ".IB(%d),\n    .STA(%d), .UO(%d), .PB(%d), .CB(%d), .OUB(%d), .USES_LIMITS(%d), .LEFT(%d), .FIELD_LEFT(%d), "
        ".QA(%d), .BANK(%d),\n",
        w.sb, w.fb, w.slots, h->groups, w.ga, h->words, w.upa, w.rb, w.tb, w.vb, w.ib, w.sta, w.uo, w.pb, w.cb, w.ob,
        h->uses_limits, most_left(&h->out_shifts), most_left(&h->formats), w.qa, second);
    if (h->skips)
        print_lists(file, h);
    print_shifts(file, "ROW_SHIFTS", &h->row_shifts);
    print_shifts(file, "FORMATS", &h->formats);
    print_shifts(file, "P_SHIFTS", &h->p_shifts);
    print_shifts(file, "C_SHIFTS", &h->c_shifts);
    print_shifts(file, "OUT_SHIFTS", &h->out_shifts);
}

void print_verilog_top(FILE *file, const struct verilog *v)
{
    int x, y;
    unroll_integer_fractions(v->reference, &x, &y);
    fprintf(
        file,
        "// %s: a network as a stream, from unroll export. A step is %d word%s of x%s and %d of y, low index first;\n"
        "// x_first: of a new sequence, states are zeros. load, w_valid, w_data: see unroll_weights.v.\n",
        v->prefix, v->h->tokens ? 1 : v->h->x_width, !v->h->tokens && v->h->x_width > 1 ? "s" : "",
        v->h->tokens ? ", a token," : "", v->h->is_class ? 1 : v->h->outputs);
    if (!v->h->tokens)
        fprintf(file, "// x: 16 bits in units of 2^%d.", -x);
    if (v->h->is_class)
        fprintf(file, "%sy: the index of the largest result.\n", v->h->tokens ? "// " : " ");
    else
        fprintf(file, "%sy: 32 bits in units of 2^%d.\n", v->h->tokens ? "// " : " ", -y);
    fprintf(file,
            "`default_nettype none\n"
            "module %s (\n"
            "  input wire clk, input wire rst,\n"
            "  input wire x_valid, output wire x_ready, input wire [15:0] x_data, input wire x_first,\n"
            "  output wire y_valid, input wire y_ready, output wire [31:0] y_data, output wire y_last,\n"
            "  input wire load, input wire w_valid, input wire [15:0] w_data, output wire busy);\n"
            "  unroll_core #(\n",
            v->prefix);
    print_sizes(file, v);
    static const char *const names[][2] = {{"WEIGHTS", "weights"}, {"SEGMENTS", "segments"},  {"ROWS", "rows"},
                                           {"GROUPS", "groups"},   {"WORDS", "words"},        {"VECTORS", "vectors"},
                                           {"TABLE", "sigmoid"},   {"EMBEDDING", "embedding"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (verilog_has_table(v, names[i][1]))
            fprintf(file, "    .F_%s(\"%s_%s.hex\")%s", names[i][0], v->prefix, names[i][1],
                    i == 6 && !v->h->embeds ? ")"
                    : i == 7                ? ")"
                                            : ",\n");
    fputs("\n  core(.clk(clk), .rst(rst), .x_valid(x_valid), .x_ready(x_ready), .x_data(x_data), .x_first(x_first),\n"
          "    .y_valid(y_valid), .y_ready(y_ready), .y_data(y_data), .y_last(y_last),\n"
          "    .load(load), .w_valid(w_valid), .w_data(w_data), .busy(busy));\n"
          "endmodule\n`default_nettype wire\n",
          file);
}
