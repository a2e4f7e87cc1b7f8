/* Runs a fuzz target without libFuzzer: every seed of a folder, then random mutations of them.
 *     fuzz_NAME SEED_FOLDER [ITERATIONS [RANDOM_SEED]]
 * Not guided by coverage; a build for libFuzzer does not include this file. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SEEDS = 256, LARGEST_SEED = 1 << 16, LARGEST_INPUT = 2 * LARGEST_SEED, MAX_CHANGES = 4 };

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input seeds[MAX_SEEDS];
static int seed_count;

static bool load_seeds(const char *folder)
{
    struct dirent *entry;
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return false;
    while ((entry = readdir(directory)) != NULL && seed_count < MAX_SEEDS) {
        char path[PATH_MAX];
        void *bytes;
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_MAX &&
            read_whole_file(path, LARGEST_SEED, &bytes, &seeds[seed_count].size) == UNROLL_OK)
            seeds[seed_count++].bytes = bytes;
    }
    closedir(directory);
    return seed_count > 0;
}

/* Replaces `removed` bytes at `at` by `added` ones. */
static void splice(struct input *input, size_t at, size_t removed, const void *bytes, size_t added)
{
    if (at + removed > input->size || input->size - removed + added > LARGEST_INPUT)
        return;
    memmove(input->bytes + at + added, input->bytes + at + removed, input->size - at - removed);
    memcpy(input->bytes + at, bytes, added);
    input->size += added - removed;
}

/* Inserts words, extreme numbers, and the punctuation of JSON. */
static void insert_token(struct input *input, size_t at, struct rng *rng)
{
    static const char *const tokens[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\"",
                                         "\\",
                                         "\\u0000",
                                         "\\ud800",
                                         "\xff",
                                         "\n",
                                         "{}",
                                         "[]",
                                         "\"\"",
                                         "[0,0]",
                                         "0",
                                         "-1",
                                         "1e9",
                                         "1e999",
                                         "0.5",
                                         "null",
                                         "true",
                                         "4294967296",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "\"shape\"",
                                         "\"dtype\"",
                                         "\"data_offsets\"",
                                         "\"__metadata__\"",
                                         "\"F32\"",
                                         "\"U8\"",
                                         "\"BF16\""};
    const char *token = tokens[rng_below(rng, sizeof tokens / sizeof *tokens)];

    splice(input, at, rng_below(rng, 4), token, strlen(token));
}

/* Changes the input in one of six random ways. */
static void mutate(struct input *input, struct rng *rng)
{
    size_t at = rng_below(rng, input->size + 1), length = rng_below(rng, 16);
    uint8_t byte = (uint8_t)rng_next_u32(rng);
    switch (rng_below(rng, 6)) {
    case 0: /* one bit */
        if (at < input->size)
            input->bytes[at] ^= (uint8_t)(1u << byte % 8);
        break;
    case 1: /* one byte */ splice(input, at, 1, &byte, 1); break;
    case 2: splice(input, at, length, "", 0); break;
    case 3: input->size = at; break;
    case 4: { /* a part of a seed */
        const struct input *other = &seeds[rng_below(rng, (uint64_t)seed_count)];
        size_t from = rng_below(rng, other->size + 1);
        splice(input, at, length, other->bytes + from, rng_below(rng, other->size - from + 1));
        break;
    }
    default: insert_token(input, at, rng);
    }
}

/* Runs on a copy of exactly its size, so that the sanitizer detects reads beyond it. */
static void run(const struct input *input)
{
    uint8_t *exact = malloc(input->size ? input->size : 1);
    if (exact == NULL)
        abort();
    memcpy(exact, input->bytes, input->size);
    LLVMFuzzerTestOneInput(exact, input->size);
    free(exact);
}

int main(int argc, char **argv)
{
    static uint8_t space[LARGEST_INPUT];
    long iterations = argc > 2 ? atol(argv[2]) : 0;
    struct rng rng = rng_new(argc > 3 ? strtoull(argv[3], NULL, 10) : 1, 0);
    if (argc < 2 || !load_seeds(argv[1])) {
        fprintf(stderr, "usage: %s SEED_FOLDER [ITERATIONS [RANDOM_SEED]]; the folder needs a seed\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < seed_count; i++) run(&seeds[i]);
    for (long i = 0; i < iterations; i++) {
        const struct input *seed = &seeds[rng_below(&rng, (uint64_t)seed_count)];
        struct input input = {space, seed->size};
        memcpy(space, seed->bytes, seed->size);
        for (uint64_t change = 0, changes = 1 + rng_below(&rng, MAX_CHANGES); change < changes; change++)
            mutate(&input, &rng);
        run(&input);
    }
    printf("%ld inputs made of %d seeds\n", iterations, (int)seed_count);
    printf("fuzz %s: %ld passed, 0 failed, 0 skipped\n", argv[1], (long)seed_count + 1);
    for (int i = 0; i < seed_count; i++) release(seeds[i].bytes);
    return 0;
}
