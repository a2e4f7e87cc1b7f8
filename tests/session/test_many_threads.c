/* Many threads on any number of processors: 3 to 64 threads give the bits of one thread, with rows or units divided,
 * with and without pieces of time. The memory of a session grows with threads only by their workspaces. */
/* test: kinds=plain,long-memory */
#include "piece_runs.h"

static void check_way(const struct way *w, const char *division, int pieces)
{
    static const int threads[] = {3, 5, 8, 17, 64};
    unroll_model *m = model_of(w);
    struct made one = run(m, w, pieces, 1, NULL, 1e-6f, NULL);
    MUST(setenv("UNROLL_DIVISION", division, 1) ? UNROLL_FAILURE : UNROLL_OK);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct made many = run(m, w, pieces, threads[i], NULL, 1e-6f, NULL);
        CHECK(many.count == one.count && !memcmp(many.at, one.at, one.count * sizeof *one.at),
              "%s, %d rows, %d pieces, %s divided among %d threads: off by %g", w->cell, w->rows, pieces, division,
              threads[i], worst_of(many, one));
        free(many.at);
    }
    unsetenv("UNROLL_DIVISION");
    free(one.at);
    unroll_model_free(m);
}

static void test_bits(void)
{
    static const struct way ways[] = {WAY("lstm", 1, 0, 0, 5, 2, 72, .input = 7, .trains = true),
                                      WAY("gru", 1, 1, 0, 66, 8, 40, .lengths = true, .trains = true),
                                      WAY("paragru", 1, 0, 0, 5, 3, 100, .input = 7, .trains = true)},
                            pieces = WAY("lstm", 1, 0, 0, 192, 1, WIDE, .input = 7, .trains = true);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        check_way(&ways[i], "rows", 1);
        check_way(&ways[i], "units", 1);
    }
    check_way(&pieces, "chosen", 3);
}

static double bytes_on(unroll_model *m, int threads)
{
    unroll_session_config c = config_of(UNROLL_MODULE, 20, 4);
    c.machine.threads = threads;
    unroll_session *s = open_with(m, c);
    const double bytes = (double)unroll_session_bytes(s);
    unroll_session_free(s);
    return bytes;
}

static void test_memory(void)
{
    static const struct way w = WAY("lstm", 1, 0, 0, 20, 4, WIDE, PLAIN);
    unroll_model *m = model_of(&w);
    const double one = bytes_on(m, 1), two = bytes_on(m, 2), many = bytes_on(m, 64);
    CHECK(many - one <= 63 * (two - one) + 1, "64 threads take %g bytes, one takes %g, two take %g", many, one, two);
    unroll_model_free(m);
}

int main(void)
{
    MUST(setenv("UNROLL_ADAPTIVE", "together", 1) ? UNROLL_FAILURE : UNROLL_OK); /* all threads in every phase */
    test_bits();
    test_memory();
    return check_finish("test_many_threads");
}
