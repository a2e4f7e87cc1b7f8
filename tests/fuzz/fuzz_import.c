/* Fuzz target: the importers of unroll_model_import with the bytes as a file; the first byte selects one. For
 * libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/import 20000; seconds=15 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unroll_network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    char letter;
    const char *format, *ending;
} importers[] = {{'t', "torch", "safetensors"}, {'i', "torch", "index.json"}, {'r', "rtneural", "json"},
                 {'a', "aidax", "json"},        {'g', "guitarml", "json"},    {'m', "nam", "nam"},
                 {'n', "rnnoise", "rnnn"},      {'o', "onnx", "onnx"}};
enum { IMPORTERS = sizeof importers / sizeof *importers };

static char folder[] = "/tmp/unroll_fuzz_XXXXXX", path[128];

static void clean(void)
{
    unlink(path);
    rmdir(folder);
}

/* One file for all inputs: its folder is created once and removed at the end. */
static FILE *open_file(const char *ending)
{
    static int made;
    if (!made++) {
        if (!mkdtemp(folder))
            abort();
        atexit(clean);
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/fuzz.%s", folder, ending);
    return fopen(path, "wb");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unroll_import_config config = unroll_import_config_default();
    unroll_model *model = NULL;
    int which = 0;
    while (size && which < IMPORTERS && importers[which].letter != data[0]) which++;
    if (size == 0 || which == IMPORTERS)
        return 0;
    FILE *file = open_file(importers[which].ending);
    if (!file || fwrite(data + 1, 1, size - 1, file) != size - 1 || fclose(file))
        abort();
    config.format = importers[which].format;
    if (unroll_model_import(path, &config, &model) != UNROLL_OK) {
        if (model || !unroll_last_error()[0])
            abort(); /* refused, but with a model, or without a message */
        return 0;
    }
    if (unroll_model_parameters(model) < 1)
        abort();
    unroll_model_free(model);
    return 0;
}
