/* Fuzz target: safetensors_parse, on the input as it is and with a repaired length field, so that changes of the header
 * reach the checks after the JSON parser. For libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/safetensors 20000 */
#include <stdlib.h>
#include <string.h>

#include "io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads each byte of each tensor, so that the sanitizer detects a view that leaves the file. */
static void use_tensors(const struct safetensors *file, const uint8_t *begin, size_t size)
{
    uint64_t total = 0;
    for (int i = 0; i < safetensors_count(file); i++) {
        const struct tensor_view *tensor = safetensors_at(file, i);
        const uint8_t *bytes = tensor->data;
        volatile uint8_t last = 0;
        for (uint64_t j = 0; j < tensor->bytes; j++) last = bytes[j];
        (void)last;
        total += tensor->bytes;
        if (bytes < begin || safetensors_find(file, tensor->name) != tensor)
            abort();
    }
    if (total > size)
        abort(); /* overlapping views */
    (void)safetensors_metadata(file, "key");
}

static void parse(const uint8_t *data, size_t size)
{
    struct safetensors *file;
    if (safetensors_parse(data, size, "fuzz", &file) == UNROLL_OK) {
        use_tensors(file, data, size);
        safetensors_close(file);
    } else if (unroll_last_error()[0] == '\0') {
        abort(); /* refused without a message */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size);
    size_t end = size; /* after the last '}' */
    while (end > 8 && data[end - 1] != '}') end--;
    if (end <= 8)
        return 0;
    uint8_t *repaired = malloc(size);
    if (repaired == NULL)
        return 0;
    memcpy(repaired, data, size);
    for (int i = 0; i < 8; i++) repaired[i] = (uint8_t)((uint64_t)(end - 8) >> 8 * i);
    parse(repaired, size);
    free(repaired);
    return 0;
}
