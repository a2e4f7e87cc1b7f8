/* Fuzz target: npz_parse and npy_parse. For libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/npy 20000 */
#include <stdlib.h>

#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads each byte, so that the sanitizer detects a view that leaves the file. */
static void use(const struct tensor_view *tensor)
{
    const uint8_t *bytes = tensor->data;
    volatile uint8_t last = 0;
    for (uint64_t i = 0; i < tensor->bytes; i++) last = bytes[i];
    (void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npz *file;
    struct tensor_view tensor;
    if (npz_parse(data, size, "fuzz", &file) == UNROLL_OK) {
        for (int i = 0; i < npz_count(file); i++) {
            use(npz_at(file, i));
            if (npz_find(file, npz_at(file, i)->name) != npz_at(file, i))
                abort();
        }
        npz_close(file);
    } else if (unroll_last_error()[0] == '\0') {
        abort(); /* refused without a message */
    }
    if (npy_parse(data, size, "fuzz", &tensor) == UNROLL_OK)
        use(&tensor);
    return 0;
}
