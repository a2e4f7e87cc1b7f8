/* Fuzz target: input of launchers. The first byte selects the parser, the others are a line of a host file, or an HTTP
 * reply. For libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/launch 20000 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/launch_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = size > 0 ? malloc(size) : NULL, name[HOST_NAME];
    int64_t number[3];
    int slots = 0;
    if (text == NULL)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 2) {
        const char *rest = line_numbers(text, "beat", 3, number);
        if (rest && (rest < text + 10 || rest > text + strlen(text)))
            abort();
    } else if (data[0] % 3) {
        json_t *reply = http_reply(text);
        if (reply && (!json_is_object(reply) || strncmp(text, "HTTP/1.", 7) != 0))
            abort();
        json_decref(reply);
    } else if (host_read(text, 64, name, &slots) && *name) {
        if (slots < 1 || slots > 64 || strpbrk(name, " ,;$`\n"))
            abort();
    }
    free(text);
    return 0;
}
