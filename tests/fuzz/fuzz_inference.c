/* Fuzz target: requests of the Open Inference Protocol, messages of frames, and records of states. The first two bytes
 * are the length of the JSON before binary tensors. What is accepted is read as numbers, integers and texts. For
 * libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/inference 20000 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extensions/serve/cli/inference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16 };

static bool count_element(void *arg, const char *text, size_t bytes, double number)
{
    size_t *elements = arg;
    volatile char seen = 0;
    for (size_t i = 0; text && i < bytes; i++) seen ^= text[i];
    (void)number;
    return ++*elements <= MOST;
}

static void read_tensor(const struct infer_tensor *t)
{
    char error[INFER_ERROR];
    size_t elements = 0;
    if (t->count > MOST)
        return;
    float *numbers = malloc((t->count + 1) * sizeof *numbers);
    int32_t *integers = malloc((t->count + 1) * sizeof *integers);
    if (infer_floats(t, numbers, error))
        for (size_t i = 0; i < t->count; i++)
            if (!isfinite(numbers[i]))
                abort();
    if (infer_integers(t, integers, error) && t->type == INFER_BYTES && t->raw && t->count)
        abort();
    if (infer_each(t, count_element, &elements, error) && elements != t->count)
        abort();
    free(numbers);
    free(integers);
}

static void answer(const struct infer *r)
{
    const size_t shape[2] = {1, 2};
    char texts[INFER_ID + INFER_NAME];
    snprintf(texts, sizeof texts, "%s%c%s", r->id, '\0', r->sequence);
    struct infer_answer a;
    size_t header;
    bool binary;
    infer_begin(&a, r->inputs ? r->input[0].name : "m", 1, r->id);
    if (infer_wants(r, "z", &binary))
        infer_add_floats(&a, "z", binary, shape, 2, (const float[]){1, NAN});
    if (infer_wants(r, "t", &binary))
        infer_add_texts(&a, "t", binary, texts, 2);
    if (!infer_end(&a, &header) || header > a.json.count)
        abort();
    json_t *root = json_loadb(a.json.bytes, header ? header : a.json.count, 0, NULL);
    if (!root)
        abort(); /* an answer that is no JSON */
    json_decref(root);
    infer_answer_free(&a);
}

static void read_frames(const uint8_t *message, size_t size)
{
    const size_t bytes = size % 5 * 4;
    const long count = frames_count(size, bytes);
    uint64_t sum = 0;
    for (long i = 0; i < count; i++) {
        const struct frame f = frame_at(message, (size_t)i, bytes);
        sum += f.session + f.flags + (bytes ? f.values[bytes - 1] : 0);
    }
    if (count == 0 && sum)
        abort();
}

static void read_records(const uint8_t *message, size_t size)
{
    struct record r;
    for (size_t at = 0, length; at < size && (length = record_at(message + at, size - at, &r)); at += length)
        if (length > size - at || r.state + r.bytes != message + at + length || !*r.key || strlen(r.key) >= INFER_NAME)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct infer r;
    char error[INFER_ERROR] = "";
    if (size < 2)
        return 0;
    const size_t header = data[0] | (size_t)data[1] << 8;
    char *body = malloc(size - 1); /* its end is where the sanitizer sees it */
    memcpy(body, data + 2, size - 2);
    if (infer_parse(body, size - 2, header, &r, error)) {
        for (int i = 0; i < r.inputs; i++) read_tensor(&r.input[i]);
        answer(&r);
    } else if (!strstr(error, "fix: ") && strlen(error) + 1 < INFER_ERROR) {
        abort(); /* refused without a fix */
    }
    infer_free(&r);
    read_frames(data, size);
    read_records((const uint8_t *)body, size - 2);
    free(body);
    return 0;
}
