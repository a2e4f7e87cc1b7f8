/* Fuzz target: parse_json. What it accepts must survive being printed and parsed again.
 * For libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/json 20000 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json, *again;
    char *text;
    if (parse_json((const char *)data, size, "fuzz", &json) != UNROLL_OK) {
        if (unroll_last_error()[0] == '\0')
            abort(); /* refused without a message */
        return 0;
    }
    if (format_json(json, &text) != UNROLL_OK)
        abort();
    if (parse_json(text, strlen(text), "fuzz", &again) != UNROLL_OK || !json_equal(json, again))
        abort();
    json_decref(again);
    release(text);
    json_decref(json);
    return 0;
}
