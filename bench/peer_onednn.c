/* oneDNN's recurrent primitives as a peer of the benchmark: answers the requests that bench/peer.py describes. The
 * weights are packed once, in the layout that oneDNN prefers. Training is also timed with the reorders that each new
 * set of weights needs. This shows the library at its best, not its use in a framework. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "onednn_api.h"

enum { MIN_RUNS = 1, MAX_RUNS = 100000, MAX_PARTS = 2, MAX_REORDERS = 6, STEPS_A_RUN = 64 };

static const int argument[TENSORS] = {DNNL_ARG_SRC_LAYER,     DNNL_ARG_SRC_ITER,     DNNL_ARG_SRC_ITER_C,
                                      DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_BIAS,
                                      DNNL_ARG_DST_LAYER,     DNNL_ARG_DST_ITER,     DNNL_ARG_DST_ITER_C};
static const int gradient_argument[TENSORS] = {
    DNNL_ARG_DIFF_SRC_LAYER,     DNNL_ARG_DIFF_SRC_ITER,     DNNL_ARG_DIFF_SRC_ITER_C,
    DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER, DNNL_ARG_DIFF_BIAS,
    DNNL_ARG_DIFF_DST_LAYER,     DNNL_ARG_DIFF_DST_ITER,     DNNL_ARG_DIFF_DST_ITER_C};

struct request {
    char cell[16], pass[16], type[8];
    int layers, steps, rows, input, hidden, directions, ragged;
};

struct arguments {
    dnnl_exec_arg_t item[2 * TENSORS + 1];
    int count;
};

struct reorder {
    dnnl_primitive_t primitive;
    struct arguments arguments;
};

/* Layers of equal input width form one primitive. A first layer of another width has a primitive of its own. */
struct part {
    int layers, input;
    bool last;
    dnnl_primitive_desc_t forward_desc, backward_desc;
    dnnl_primitive_t forward, backward;
    struct arguments forward_arguments[2], backward_arguments; /* [1]: from the final states to the initial ones */
    dnnl_memory_t value[TENSORS], gradient[TENSORS];
    struct reorder reorder[MAX_REORDERS];
    int reorders;
};

struct network {
    struct request request;
    enum net_cell cell;
    bool trains, streams;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attributes; /* NULL unless int8 */
    struct part part[MAX_PARTS];
    int parts, steps_done;
    double ms[MAX_RUNS];
};

static const char *refusal; /* why the network cannot run, or NULL */

static bool tell(dnnl_status_t status, const char *what)
{
    if (status && !refusal)
        refusal = status == dnnl_unimplemented ? "oneDNN has no such primitive" : what;
    return !status;
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- tensors ---- */

static int gates_of(enum net_cell cell) { return cell == NET_RNN ? 1 : cell == NET_LSTM ? 4 : 3; }

/* Writes the sizes of a tensor's axes and returns how many there are. Axes: T time, N rows, C channels, L layers, D
 * directions, G gates. */
static int sizes_of(const struct network *net, const struct part *part, enum tensor tensor, dnnl_dims_t sizes)
{
    const struct request *r = &net->request;
    int gates = gates_of(net->cell);
    bool wide = tensor == DST;

    switch (tensor) {
    case SRC:
    case DST:
        memcpy(sizes, (dnnl_dims_t){r->steps, r->rows, wide ? r->directions * r->hidden : part->input},
               sizeof(dnnl_dims_t));
        return 3;
    case WEIGHTS:
    case WEIGHTS_ITER:
        memcpy(
            sizes,
            (dnnl_dims_t){part->layers, r->directions, tensor == WEIGHTS ? part->input : r->hidden, gates, r->hidden},
            sizeof(dnnl_dims_t));
        return 5;
    case BIAS: /* the GRU that resets after the product has one more bias */
        memcpy(sizes, (dnnl_dims_t){part->layers, r->directions, gates + (net->cell == NET_GRU), r->hidden},
               sizeof(dnnl_dims_t));
        return 4;
    default:
        memcpy(sizes, (dnnl_dims_t){part->layers, r->directions, r->rows, r->hidden}, sizeof(dnnl_dims_t));
        return 4;
    }
}

static dnnl_format_tag_t plain_tag(enum tensor tensor)
{
    return tensor == SRC || tensor == DST                ? dnnl_tnc
           : tensor == WEIGHTS || tensor == WEIGHTS_ITER ? dnnl_ldigo
           : tensor == BIAS                              ? dnnl_ldgo
                                                         : dnnl_ldnc;
}

static bool is_matrix(int tensor) { return tensor == WEIGHTS || tensor == WEIGHTS_ITER; }

static dnnl_data_type_t type_of(const struct network *net, enum tensor tensor)
{
    bool matrix = is_matrix(tensor), cell_state = tensor == SRC_ITER_C || tensor == DST_ITER_C;

    if (cell_state || tensor == BIAS || !strcmp(net->request.type, "fp32"))
        return dnnl_f32;
    if (!strcmp(net->request.type, "bf16"))
        return dnnl_bf16;
    return matrix ? dnnl_s8 : dnnl_u8;
}

/* Returns a descriptor, or NULL for a cell state that the cell lacks. type: dnnl_data_type_undef means the network's
 * type. free_layout: oneDNN chooses the layout of matrices. */
static desc tensor_desc(const struct network *net, const struct part *part, enum tensor tensor, dnnl_data_type_t type,
                        bool free_layout)
{
    dnnl_dims_t sizes;
    int dimensions = sizes_of(net, part, tensor, sizes);
    bool any = free_layout && is_matrix(tensor);

    if ((tensor == SRC_ITER_C || tensor == DST_ITER_C) && net->cell != NET_LSTM)
        return NULL;
    return new_desc(dimensions, sizes, type ? type : type_of(net, tensor),
                    any ? dnnl_format_tag_any : plain_tag(tensor));
}

static dnnl_memory_t new_memory(struct network *net, desc d)
{
    dnnl_memory_t memory = NULL;

    tell(dnnl_memory_create(&memory, d, net->engine, DNNL_MEMORY_ALLOCATE), "no memory");
    return memory;
}

static desc desc_of(dnnl_memory_t memory)
{
#if DNNL_VERSION_MAJOR < 3
    const dnnl_memory_desc_t *d = NULL;
#else
    const_dnnl_memory_desc_t d = NULL;
#endif
    dnnl_memory_get_memory_desc(memory, &d);
    return d;
}

static void push(struct arguments *arguments, int name, dnnl_memory_t memory)
{
    if (memory)
        arguments->item[arguments->count++] = (dnnl_exec_arg_t){name, memory};
}

static void execute(struct network *net, dnnl_primitive_t primitive, const struct arguments *arguments)
{
    tell(dnnl_primitive_execute(primitive, net->stream, arguments->count, arguments->item), "execution failed");
}

static struct reorder new_reorder(struct network *net, dnnl_memory_t from, dnnl_memory_t to,
                                  const_dnnl_primitive_attr_t attributes)
{
    struct reorder reorder = {0};
    dnnl_primitive_desc_t d;

    if (tell(dnnl_reorder_primitive_desc_create(&d, desc_of(from), net->engine, desc_of(to), net->engine, attributes),
             "no reorder")) {
        tell(dnnl_primitive_create(&reorder.primitive, d), "no reorder");
        dnnl_primitive_desc_destroy(d);
        push(&reorder.arguments, DNNL_ARG_FROM, from);
        push(&reorder.arguments, DNNL_ARG_TO, to);
    }
    return reorder;
}

/* Returns a plain fp32 tensor with values uniform in -scale .. scale. */
static dnnl_memory_t random_memory(struct network *net, const struct part *part, enum tensor tensor, float scale)
{
    static unsigned long long state = 1;
    desc d = tensor_desc(net, part, tensor, dnnl_f32, false);
    dnnl_memory_t memory = new_memory(net, d);
    size_t count = dnnl_memory_desc_get_size(d) / sizeof(float);
    void *values = NULL;

    dnnl_memory_get_data_handle(memory, &values);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ((float *)values)[i] = scale * ((float)(state >> 40) * 0x1p-23f - 1);
    }
    free_desc(d);
    return memory;
}

/* Writes random values into `to`, converted to its type and layout. */
static void fill(struct network *net, const struct part *part, enum tensor tensor, dnnl_memory_t to, float scale)
{
    dnnl_memory_t from = random_memory(net, part, tensor, scale);
    struct reorder reorder = new_reorder(net, from, to, is_matrix(tensor) ? net->attributes : NULL);

    if (reorder.primitive) {
        execute(net, reorder.primitive, &reorder.arguments);
        dnnl_stream_wait(net->stream);
        dnnl_primitive_destroy(reorder.primitive);
    }
    dnnl_memory_destroy(from);
}

/* ---- a network ---- */

static float scale_of(const struct network *net, enum tensor tensor)
{
    return is_matrix(tensor) || tensor == BIAS ? 1 / sqrtf((float)net->request.hidden) : 1;
}

static void make_attributes(struct network *net)
{
    float scales[] = {127 * sqrtf((float)net->request.hidden)};

    if (strcmp(net->request.type, "int8") != 0)
        return;
    dnnl_primitive_attr_create(&net->attributes);
    dnnl_primitive_attr_set_rnn_data_qparams(net->attributes, 127, 128);
    dnnl_primitive_attr_set_rnn_weights_qparams(net->attributes, 1, 0, scales);
}

static dnnl_memory_t queried_memory(struct network *net, dnnl_primitive_desc_t d, int name)
{
    desc found = dnnl_primitive_desc_query_md(d, dnnl_query_exec_arg_md, name);

    return new_memory(net, found);
}

static void make_forward(struct network *net, struct part *part, dnnl_memory_t src)
{
    desc d[TENSORS];
    dnnl_prop_kind_t kind = net->trains ? dnnl_forward_training : dnnl_forward_inference;
    dnnl_rnn_direction_t direction =
        net->request.directions > 1 ? dnnl_bidirectional_concat : dnnl_unidirectional_left2right;

    for (int i = 0; i < TENSORS; i++) d[i] = tensor_desc(net, part, i, dnnl_data_type_undef, true);
    bool made = tell(forward_desc(&part->forward_desc, net->engine, net->cell, kind, direction, d, net->attributes),
                     "oneDNN refused the description") &&
                tell(dnnl_primitive_create(&part->forward, part->forward_desc), "no primitive");
    for (int i = 0; made && i < TENSORS; i++) {
        if (!d[i])
            continue;
        part->value[i] = i == SRC && src ? src : queried_memory(net, part->forward_desc, argument[i]);
        if (i != SRC || !src)
            fill(net, part, i, part->value[i], scale_of(net, i));
        push(&part->forward_arguments[0], argument[i], part->value[i]);
    }
    for (int i = 0; i < TENSORS; i++) free_desc(d[i]);
    if (!made)
        return;
    if (net->trains)
        push(&part->forward_arguments[0], DNNL_ARG_WORKSPACE,
             new_memory(net, dnnl_primitive_desc_query_md(part->forward_desc, dnnl_query_workspace_md, 0)));
    static const int swapped[TENSORS] = {SRC,  DST_ITER, DST_ITER_C, WEIGHTS,   WEIGHTS_ITER,
                                         BIAS, DST,      SRC_ITER,   SRC_ITER_C};
    for (int i = 0; i < TENSORS; i++) push(&part->forward_arguments[1], argument[i], part->value[swapped[i]]);
}

static void add_reorder(struct network *net, struct part *part, dnnl_memory_t from, dnnl_memory_t to)
{
    if (dnnl_memory_desc_equal(desc_of(from), desc_of(to)))
        return; /* equal layouts need no reorder */
    part->reorder[part->reorders++] = new_reorder(net, from, to, NULL);
}

/* Adds the reorders of one iteration: the plain weights into the layouts of forward and backward, and the gradient
 * into the plain layout. Returns the weights in the layout of backward. */
static dnnl_memory_t make_backward_matrix(struct network *net, struct part *part, enum tensor tensor)
{
    dnnl_memory_t master = random_memory(net, part, tensor, scale_of(net, tensor));
    dnnl_memory_t master_gradient = random_memory(net, part, tensor, 0);
    dnnl_memory_t packed = queried_memory(net, part->backward_desc, argument[tensor]);

    fill(net, part, tensor, packed, scale_of(net, tensor));
    add_reorder(net, part, master, part->value[tensor]);
    add_reorder(net, part, master, packed);
    add_reorder(net, part, part->gradient[tensor], master_gradient);
    return packed;
}

static void make_backward(struct network *net, struct part *part, dnnl_memory_t dst_gradient)
{
    desc d[TENSORS], g[TENSORS];
    dnnl_rnn_direction_t direction =
        net->request.directions > 1 ? dnnl_bidirectional_concat : dnnl_unidirectional_left2right;
    struct arguments *arguments = &part->backward_arguments;

    for (int i = 0; i < TENSORS; i++) {
        d[i] = tensor_desc(net, part, i, dnnl_data_type_undef, true);
        g[i] = tensor_desc(net, part, i, dnnl_f32, true);
    }
    bool made = tell(backward_desc(&part->backward_desc, net->engine, net->cell, direction, d, g, part->forward_desc),
                     "oneDNN refused the description") &&
                tell(dnnl_primitive_create(&part->backward, part->backward_desc), "no primitive");
    for (int i = 0; made && i < TENSORS; i++) {
        if (!d[i])
            continue;
        bool given = i == DST && dst_gradient;
        part->gradient[i] = given ? dst_gradient : queried_memory(net, part->backward_desc, gradient_argument[i]);
        if (!given)
            fill(net, part, i, part->gradient[i], i == DST ? 1 : 0);
        push(arguments, gradient_argument[i], part->gradient[i]);
        push(arguments, argument[i], is_matrix(i) ? make_backward_matrix(net, part, i) : part->value[i]);
    }
    if (made)
        arguments->item[arguments->count++] =
            part->forward_arguments[0].item[part->forward_arguments[0].count - 1]; /* workspace */
    for (int i = 0; i < TENSORS; i++) {
        free_desc(d[i]);
        free_desc(g[i]);
    }
}

static void make_parts(struct network *net)
{
    const struct request *r = &net->request;
    bool alone = r->layers > 1 && r->input != r->hidden;

    net->parts = alone ? 2 : 1;
    net->part[0].layers = alone ? 1 : r->layers;
    net->part[0].input = r->input;
    net->part[1].layers = r->layers - 1;
    net->part[1].input = r->hidden;
    for (int i = 0; i < net->parts && !refusal; i++)
        make_forward(net, &net->part[i], i ? net->part[i - 1].value[DST] : NULL);
    for (int i = net->parts - 1; i >= 0 && net->trains && !refusal; i--)
        make_backward(net, &net->part[i], i + 1 < net->parts ? net->part[i + 1].gradient[SRC] : NULL);
}

static bool read_cell(struct network *net)
{
    static const char *const name[NET_CELLS] = {"rnn", "lstm", "gru", "gru-before"};

    for (int i = 0; i < NET_CELLS; i++)
        if (!strcmp(net->request.cell, name[i])) {
            net->cell = (enum net_cell)i;
            return true;
        }
    return false;
}

static void prepare(struct network *net)
{
    const struct request *r = &net->request;

    net->trains = !strcmp(r->pass, "train");
    net->streams = !strcmp(r->pass, "stream");
    if (!read_cell(net))
        refusal = "oneDNN has no such cell";
    else if (!net->trains && !net->streams && strcmp(r->pass, "infer"))
        refusal = "oneDNN trains no model by itself";
    else if (r->ragged)
        refusal = "oneDNN's rows are all of one length";
    else if (net->trains && strcmp(r->type, "fp32"))
        refusal = "this driver trains in fp32 alone";
    else if (r->layers > 1 && r->directions > 1)
        refusal = "this driver stacks no bidirectional layers";
    if (refusal || !tell(dnnl_engine_create(&net->engine, dnnl_cpu, 0), "no engine") ||
        !tell(dnnl_stream_create(&net->stream, net->engine, dnnl_stream_default_flags), "no stream"))
        return;
    make_attributes(net);
    make_parts(net);
}

/* ---- runs ---- */

static void run_once(struct network *net, bool with_reorders)
{
    int turn = net->streams ? net->steps_done++ % 2 : 0;

    for (int i = 0; i < net->parts && with_reorders; i++)
        for (int k = 0; k < net->part[i].reorders; k++)
            execute(net, net->part[i].reorder[k].primitive, &net->part[i].reorder[k].arguments);
    for (int i = 0; i < net->parts; i++) execute(net, net->part[i].forward, &net->part[i].forward_arguments[turn]);
    for (int i = net->parts - 1; i >= 0 && net->trains; i--)
        execute(net, net->part[i].backward, &net->part[i].backward_arguments);
    dnnl_stream_wait(net->stream);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* Runs for some seconds and sorts the times. When streaming, a time is the mean of STEPS_A_RUN steps. Returns the
 * number of times. */
static int measure(struct network *net, double seconds, bool with_reorders)
{
    double begin = seconds_now();
    int runs = 0, repeats = net->streams ? STEPS_A_RUN : 1;

    while (runs < MAX_RUNS && (runs < MIN_RUNS || seconds_now() - begin < seconds)) {
        double from = seconds_now();
        for (int i = 0; i < repeats; i++) run_once(net, with_reorders);
        net->ms[runs++] = 1e3 * (seconds_now() - from) / repeats;
    }
    qsort(net->ms, (size_t)runs, sizeof *net->ms, compare);
    return runs;
}

static void answer_run(struct network *net, double seconds)
{
    int runs = measure(net, seconds, false);

    printf("{\"ms\": %.9g, \"ms_median\": %.9g, \"runs\": %d", net->ms[0], net->ms[runs / 2], runs);
    if (net->trains) {
        runs = measure(net, seconds, true);
        printf(", \"ms_with_reorders\": %.9g, \"ms_with_reorders_median\": %.9g", net->ms[0], net->ms[runs / 2]);
    }
    printf("}\n");
}

/* One network per process; its memory is freed at exit. */
int main(void)
{
    static struct network net;
    struct request *r = &net.request;
    const dnnl_version_t *version = dnnl_version();
    char line[256];
    double seconds;

    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "prepare %15s %15s %7s %d %d %d %d %d %d %d", r->cell, r->pass, r->type, &r->layers, &r->steps,
                   &r->rows, &r->input, &r->hidden, &r->directions, &r->ragged) == 10) {
            prepare(&net);
            if (!refusal)
                run_once(&net, net.trains);
            if (refusal)
                printf("{\"refused\": \"%s\"}\n", refusal);
            else
                printf("{\"version\": \"oneDNN %d.%d.%d\"}\n", version->major, version->minor, version->patch);
        } else if (sscanf(line, "run %lf", &seconds) == 1) {
            answer_run(&net, seconds);
        } else {
            printf("{\"refused\": \"unknown request\"}\n");
        }
        fflush(stdout);
    }
    return 0;
}
