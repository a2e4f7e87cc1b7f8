/* The cost of integer arithmetic: the loss of a text model in floats, and in the int8 arithmetic of exported C.
 *     integers MODEL TEXT [SYMBOLS]      on the last SYMBOLS (20000) of the text; its beginning calibrates the formats
 *     integers MODEL                     for a model of one number: the difference of the outputs for a wave, and the
 *                                        outputs of hardware with 8-bit operands (`unroll export --to verilog`)
 * `unroll export MODEL --to c99 --dtype int8 --calibrate` gives the same bits for the same tokens. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unroll_advanced.h>

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "integers: %s\n", unroll_last_error());
    exit(status);
}

/* Returns the loss of one token in nats: cross-entropy of the softmax of z. */
static double nats(const float *z, int count, int32_t symbol)
{
    double largest = z[0], sum = 0;
    for (int i = 1; i < count; i++)
        largest = z[i] > largest ? z[i] : largest;
    for (int i = 0; i < count; i++)
        sum += exp(z[i] - largest);
    return largest + log(sum) - z[symbol];
}

static void *memory_of(size_t bytes)
{
    void *memory = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    if (memory)
        return memory;
    fprintf(stderr, "integers: %s\n", bytes ? "no memory" : unroll_last_error());
    exit(UNROLL_RESOURCE);
}

/* Hardware reads and writes integers in units of 2^-fraction. */
static float step_raw(unroll_integer *integer, float x)
{
    int in, out;
    int32_t y;
    unroll_integer_fractions(integer, &in, &out);
    const int16_t q = (int16_t)lrint(fmax(-32768, fmin(32767, ldexp(x, in))));
    check(unroll_integer_step_raw(integer, NULL, &q, &y));
    return (float)ldexp(y, -out);
}

static int compare_on_wave(unroll_model *model)
{
    enum { STEPS = 1000 };
    unroll_stream_config config = unroll_stream_config_default();
    unroll_stream *stream;
    unroll_integer *integer, *narrow;
    unroll_integer_config of_8 = unroll_integer_config_default();
    float x, floats, integers, worst = 0, worst_of_8 = 0;

    of_8.operand_bits = 8;
    check(unroll_integer_new(model, NULL, &integer));
    check(unroll_integer_new(model, &of_8, &narrow));
    unroll_integer_reset(narrow);
    size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = memory_of(bytes);
    check(unroll_stream_init(memory, bytes, model, &config, &stream));
    if (unroll_stream_inputs(stream) != 1 || unroll_stream_outputs(stream) != 1) {
        fprintf(stderr, "integers: without a text this program is for models of one number in and one out\n");
        return UNROLL_USAGE;
    }
    for (int t = 0; t < STEPS; t++) {
        x = (float)(0.6 * sin(0.3 * t) + 0.4 * sin(0.7 * t));
        check(unroll_stream_step(stream, NULL, &x, &floats));
        check(unroll_integer_step(integer, NULL, &x, &integers));
        worst = fmaxf(worst, fabsf(floats - integers));
        worst_of_8 = fmaxf(worst_of_8, fabsf(floats - step_raw(narrow, x)));
    }
    printf("%d answers differ by at most %.3g, with 8-bit operands by %.3g\n", STEPS, (double)worst, (double)worst_of_8);
    free(memory);
    unroll_integer_free(integer);
    unroll_integer_free(narrow);
    unroll_model_free(model);
    return 0;
}

int main(int count, char *words[])
{
    enum { CALIBRATION = 2000 };
    unroll_model *model;
    unroll_dataset *text;
    unroll_stream *stream;
    unroll_integer *integer;
    unroll_stream_config config = unroll_stream_config_default();
    unroll_integer_config calibration = unroll_integer_config_default();
    unroll_dataset_config reading = unroll_dataset_config_default();
    size_t symbols, measured = count > 3 ? (size_t)atol(words[3]) : 20000;

    if (count < 2) {
        fprintf(stderr, "usage: integers MODEL [TEXT [SYMBOLS]]\n");
        return UNROLL_USAGE;
    }
    check(unroll_model_load(words[1], &model));
    if (count < 3)
        return compare_on_wave(model);
    reading.model = model;
    check(unroll_dataset_open(words[2], &reading, &text));
    const int outputs = unroll_model_outputs(model);
    symbols = unroll_dataset_tokens(text, 0, 0, NULL);
    int32_t *token = memory_of((symbols + 1) * sizeof *token);
    unroll_dataset_tokens(text, 0, symbols, token);
    if (symbols < CALIBRATION + 2) {
        fprintf(stderr, "integers: the text is shorter than %d tokens\n", CALIBRATION + 2);
        return UNROLL_DATA;
    }
    calibration.tokens = token;
    calibration.steps = CALIBRATION;
    check(unroll_integer_new(model, &calibration, &integer));
    size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = memory_of(bytes);
    check(unroll_stream_init(memory, bytes, model, &config, &stream));

    float *z = memory_of((size_t)outputs * sizeof *z), *y = memory_of((size_t)outputs * sizeof *y);
    double floats = 0, integers = 0, worst = 0;
    size_t first = measured + 1 < symbols ? symbols - measured - 1 : 0, last = symbols - 1;
    for (size_t t = first; t < last; t++) {
        check(unroll_stream_step(stream, &token[t], NULL, z));
        check(unroll_integer_step(integer, &token[t], NULL, y));
        floats += nats(z, outputs, token[t + 1]);
        integers += nats(y, outputs, token[t + 1]);
        for (int i = 0; i < outputs; i++)
            worst = fmax(worst, fabs((double)(z[i] - y[i])));
    }
    size_t n = last - first;
    printf("floats   %.5f nats\nintegers %.5f nats, %+.3f%%\nlogits differ by at most %.3g\n",
           floats / (double)n,
           integers / (double)n, 100 * (integers / floats - 1), worst);
    free(y);
    free(z);
    free(memory);
    unroll_integer_free(integer);
    unroll_dataset_free(text);
    unroll_model_free(model);
    return 0;
}
