/* Fuzz target: the readers of frames. The first byte selects format and width, the others are the input. For libFuzzer,
 * or for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/frames 20000 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/run/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FRAMES = 1 << 17 };

static void read_all(struct frames *frames, int width)
{
    float frame[4];
    bool more = true;
    int count = 0;
    while (more) {
        if (frames_next(frames, frame, &more) != UNROLL_OK) {
            if (frames->error[0] == '\0')
                abort(); /* refused without a message */
            return;
        }
        for (int i = 0; more && i < width; i++)
            if (!isfinite(frame[i]))
                abort();
        if (count++ > MAX_FRAMES)
            abort(); /* frames without input */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frames frames;
    if (size < 2)
        return 0;
    int width = 1 + data[0] / 3 % 4;
    FILE *file = fmemopen((void *)(data + 1), size - 1, "rb");
    if (file == NULL)
        return 0;
    if (frames_open(&frames, file, data[0] < 12 ? (enum frame_format)(data[0] % 3) : FRAMES_NPY, width) == UNROLL_OK)
        read_all(&frames, width);
    else if (frames.error[0] == '\0')
        abort();
    frames_close(&frames);
    fclose(file);
    return 0;
}
