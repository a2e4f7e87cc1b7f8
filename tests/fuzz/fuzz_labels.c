/* Fuzz target: files of labels of sounds. The first byte selects the kind of file. Accepted spans have labels and times
 * in order. For libFuzzer, or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/labels 20000 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/readers/audio_labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x.txt", "x.csv", "x.tsv", "x.lab", "x.TextGrid", "x.rttm", "x.scv", "x.beats"};
    struct audio_labels labels = {0};
    bool found;
    size_t first;
    if (size < 1)
        return 0;
    char *copy = malloc(size); /* of exactly this size, so that a read beyond its end is found */
    if (copy == NULL)
        return 0;
    memcpy(copy, data + 1, size - 1);
    if (audio_labels_read(&labels, names[data[0] % 8], copy, size - 1, &found) == UNROLL_OK && labels.count) {
        audio_labels_sort(&labels);
        for (size_t i = 0; i < labels.count; i++) {
            const struct span *span = &labels.span[i];
            if (span->from < 0 || span->to < span->from || span->label >= labels.labels ||
                strlen(audio_label_name(&labels, span->label)) == 0 ||
                audio_labels_of(&labels, labels.names + span->sound, &first) == 0)
                abort();
        }
    }
    audio_labels_end(&labels);
    free(copy);
    return 0;
}
