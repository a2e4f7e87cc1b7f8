/* Pieces of time: sessions that run pieces of a sequence concurrently give the results of sessions in one piece. Cells
 * whose gates multiply no state give the same bits, others agree within the tolerance, and cells that never forget give
 * the serial bits, by repairs from piece to piece. Covers lengths, resets, carried states, both directions, layers,
 * instruction sets, threads; counters, refusals, and when a session returns to one piece.
 * tests/session/mutate_pieces.sh breaks it. */
/* test: kinds=plain,long-memory */
#include "piece_runs.h"
#include "listed.h"

/* ---- the serial results ---------------------------------------------------------------- */

static void compare(const struct way *w, unroll_model *m, struct made serial, int pieces, int threads, const char *isa,
                    bool exact)
{
    unroll_pieces counts;
    struct made made = run(m, w, pieces, threads, isa, 1e-6f, &counts);
    const double worst = worst_of(made, serial);
    const bool same = made.count == serial.count && !memcmp(made.at, serial.at, made.count * sizeof *made.at);
    CHECK(exact ? same : worst <= (w->trains ? 1e-5 : 2e-6),
          "%s, %d layers, %d x %d, %d pieces, %d threads, %s: off by %g", w->cell, w->layers, w->steps, w->rows, pieces,
          threads, isa ? isa : "the best", worst);
    CHECK(counts.pieces == pieces && counts.runs > 0 && counts.rounds > 0 && counts.repaired > 0,
          "%s: %d pieces, %d runs, %d rounds of %d steps", w->cell, counts.pieces, (int)counts.runs, (int)counts.rounds,
          (int)counts.repaired);
    free(made.at);
}

static void check_way(const struct way *w, bool exact)
{
    static const int pieces[] = {2, 3, 7, 16};
    unroll_model *m = model_of(w);
    struct made serial = run(m, w, 1, 1, NULL, 1e-6f, NULL);
    for (int i = 0; i < 4; i++)
        if (w->steps / pieces[i] >= 64)
            compare(w, m, serial, pieces[i], 1 + i % 2, NULL, exact);
    free(serial.at);
    unroll_model_free(m);
}

static void test_ways(void)
{
    static const struct way exact[] = {WAY("mingru", 1, 0, 0, LONG, 1, 17, .input = 7),
                                       WAY("minlstm", 2, 1, 0, LONG, MANY, 9, .lengths = true, .resets = true),
                                       WAY("sru", 1, 0, 0, LONG, 1, 33, .stateful = true),
                                       WAY("sru", 2, 1, 0, LONG, 8, 5, .lengths = true),
                                       WAY("indrnn", 1, 0, 0, LONG, 1, 20, .resets = true),
                                       WAY("paragru", 2, 0, 0, LONG, 2, WIDE, PLAIN),
                                       WAY("paragru", 1, 1, 0, LONG, 8, 20, .input = 7, .lengths = true,
                                           .stateful = true),
                                       WAY("sru", 2, 1, 0, LONG, MANY, 9, .input = 7, .lengths = true, .trains = true),
                                       WAY("paragru", 1, 0, 0, LONG, 1, 20, .resets = true, .trains = true),
                                       WAY("paralstm", 2, 0, 0, LONG, 2, 33, .input = 7, .trains = true),
                                       WAY("paralstm", 1, 1, 0, LONG, MANY, 20, .resets = true),
                                       WAY("paralstm", 1, 0, 0, 2049, 1, 70, PLAIN)},
                            near[] = {WAY("lstm", 1, 0, 0, LONG, 1, WIDE, PLAIN),
                                      WAY("lstm", 1, 0, 0, 16 * 64, 1, 528, .input = 7),
                                      WAY("lstm", 2, 1, 0, LONG, MANY, 20, .lengths = true, .resets = true),
                                      WAY("lstm", 1, 0, 6, LONG, 2, 20, .lengths = true),
                                      WAY("gru", 1, 0, 0, LONG, 1, 70, .input = 7, .stateful = true),
                                      WAY("gru", 1, 1, 0, LONG, 8, 9, .lengths = true),
                                      WAY("gru-before", 2, 0, 0, LONG, MANY, 20, .input = 7, .resets = true),
                                      WAY("lstm", 2, 1, 0, LONG, MANY, 9, .input = 7, .lengths = true, .trains = true),
                                      WAY("lstm", 1, 0, 6, LONG, 1, 20, .input = 7, .trains = true),
                                      WAY("gru", 1, 0, 0, LONG, 2, 33, .resets = true, .trains = true),
                                      WAY("gru-before", 1, 1, 0, LONG, 1, 20, .trains = true),
                                      WAY("rnn-relu", 1, 0, 0, LONG, 1, 20, PLAIN)};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) check_way(&exact[i], true);
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) check_way(&near[i], false);
}

/* Pieces have the bits of one piece, which are the same on all instruction sets. */
static void test_isas(void)
{
    static const struct way ways[] = {WAY("paragru", 1, 0, 0, LONG, 1, 40, PLAIN),
                                      WAY("lstm", 1, 0, 0, LONG, 1, 40, PLAIN)};
    const char *isa;
    for (int k = 0; k < 2; k++) {
        unroll_model *m = model_of(&ways[k]);
        struct made serial = run(m, &ways[k], 1, 1, "scalar", 1e-6f, NULL);
        struct made pieces = run(m, &ways[k], 5, 1, "scalar", 1e-6f, NULL);
        for (int i = 0, available; (isa = listed_isa(i, &available)); i++)
            for (int threads = 1; available && threads <= 3; threads++) {
                struct made made = run(m, &ways[k], 5, threads, isa, 1e-6f, NULL);
                CHECK(!memcmp(made.at, pieces.at, made.count * sizeof *made.at), "%s on %s, %d threads: other bits",
                      ways[k].cell, isa, threads);
                free(made.at);
            }
        CHECK(k || !memcmp(serial.at, pieces.at, serial.count * sizeof *serial.at), "paragru: other bits");
        free(serial.at);
        free(pieces.at);
        unroll_model_free(m);
    }
}

/* ---- cells that never forget ----------------------------------------------------------- */

/* Chaos: a difference never disappears, so each piece is run again from the true state. */
static void test_chaos(void)
{
    static const struct way w = WAY("rnn", 1, 0, 0, 640, 1, WIDE, .gain = 3);
    unroll_model *m = model_of(&w);
    struct made serial = run(m, &w, 1, 1, NULL, 1e-6f, NULL);
    for (int pieces = 2; pieces <= 10; pieces += 4) {
        unroll_pieces counts;
        struct made made = run(m, &w, pieces, 1 + pieces % 4 / 2, NULL, 1e-6f, &counts);
        CHECK(!memcmp(made.at, serial.at, made.count * sizeof *made.at), "%d pieces of chaos: off by %g", pieces,
              worst_of(made, serial));
        CHECK(counts.rounds == pieces - 1, "%d pieces of chaos: %d rounds", pieces, (int)counts.rounds);
        free(made.at);
    }
    free(serial.at);
    unroll_model_free(m);
}

/* An IndRNN with u = 1 adds up everything that entered: its pieces begin with wrong states, which remain until they are
 * corrected. */
static void check_sums(const struct way *w)
{
    unroll_model *m = model_of(w);
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_parameter q = {.size = sizeof q};
        MUST(unroll_model_parameter(m, i, &q));
        for (int k = 0; k < q.shape[0] * (q.rank > 1 ? q.shape[1] : 1); k++)
            q.data[k] = strstr(q.name, "vector") ? 1 : fabsf(q.data[k]);
    }
    struct made serial = run(m, w, 1, 1, NULL, 1e-6f, NULL), made = run(m, w, 10, 1, NULL, 1e-6f, NULL);
    CHECK(!memcmp(made.at, serial.at, made.count * sizeof *made.at), "sums: off by %g", worst_of(made, serial));
    free(serial.at);
    free(made.at);
    unroll_model_free(m);
}

static void test_sums(void)
{
    static const struct way w = WAY("indrnn", 1, 0, 0, 640, 2, 5, .stateful = true),
                            back = WAY("indrnn", 1, 0, 0, 640, 1, 5, .input = 7, .trains = true);
    check_sums(&w);
    check_sums(&back);
}

/* After some runs with repairs longer than a piece, a session returns to one piece, with the serial bits. */
static void test_going_back(void)
{
    enum { STEPS_OF_CHAOS = 320, RUNS = 5 };
    static const struct way chaos = WAY("rnn", 1, 0, 0, STEPS_OF_CHAOS, 1, WIDE, .gain = 3),
                            calm = WAY("gru", 1, 0, 0, STEPS_OF_CHAOS, 1, WIDE, PLAIN);
    for (int k = 0; k < 2; k++) {
        unroll_model *m = model_of(k ? &calm : &chaos);
        float x[STEPS_OF_CHAOS * INPUT];
        uint64_t seed = 4;
        unroll_session_config c = config_of(UNROLL_INFER, STEPS_OF_CHAOS, 1);
        c.machine.pieces = 5;
        unroll_session *s = open_with(m, c);
        unroll_batch batch = {.size = sizeof batch, .inputs = x};
        unroll_pieces counts = {.size = sizeof counts};
        for (int i = 0; i < RUNS; i++) {
            for (int j = 0; j < STEPS_OF_CHAOS * INPUT; j++) x[j] = (float)random_number(&seed);
            MUST(unroll_session_forward(s, &batch));
        }
        MUST(unroll_session_pieces(s, &counts));
        CHECK(counts.in_order == (k == 0) && counts.runs == (k ? RUNS : 3), "%s: %d in one piece after %d runs",
              k ? "gru" : "chaos", counts.in_order, (int)counts.runs);
        unroll_session_free(s);
        unroll_model_free(m);
    }
}

/* ---- choices, refusals ----------------------------------------------------------------- */

static void refuse(unroll_model *m, unroll_session_config c, unroll_status status, const char *words)
{
    unroll_session *s = NULL;
    CHECK_REFUSED(unroll_session_new(m, &c, &s), status, words);
    unroll_session_free(s);
}

static int pieces_chosen(const char *cell, unroll_mode mode, int steps, int rows)
{
    const struct way w = WAY(cell, 1, 0, 0, steps, rows, 5, PLAIN);
    unroll_model *m = model_of(&w);
    unroll_session_config c = config_of(mode, steps, rows);
    unroll_pieces counts = {.size = sizeof counts};
    c.machine.pieces = UNROLL_AUTO;
    unroll_session *s = open_with(m, c);
    MUST(unroll_session_pieces(s, &counts));
    unroll_session_free(s);
    unroll_model_free(m);
    return counts.pieces;
}

static void test_requests(void)
{
    static const struct way dense = WAY("lstm", 1, 0, 0, 640, 1, 5, PLAIN),
                            diagonal = WAY("paragru", 1, 0, 0, 640, 1, 5, PLAIN);
    unroll_model *lstm = model_of(&dense), *paragru = model_of(&diagonal);
    unroll_session_config c = config_of(UNROLL_INFER, 640, 1), with;
    c.machine.pieces = 10;
    with = c, with.machine.time_tolerance = 0;
    refuse(lstm, with, UNROLL_UNSUPPORTED, "never decays");
    with = c, with.machine.exact = 1;
    refuse(lstm, with, UNROLL_UNSUPPORTED, "never decays");
    with = c, with.machine.time_tolerance = -1;
    refuse(lstm, with, UNROLL_USAGE, "outside 0");
    with = c, with.machine.pieces = 11;
    refuse(lstm, with, UNROLL_UNSUPPORTED, "fix: set `pieces` = 10");
    with = c, with.machine.pieces = 65;
    refuse(lstm, with, UNROLL_USAGE, "outside 1..64");
    with = c, with.machine.chunks = 2;
    refuse(lstm, with, UNROLL_UNSUPPORTED, "`chunks`");
    unroll_stream_config stream = unroll_stream_config_default();
    stream.machine.pieces = 2;
    CHECK(unroll_stream_bytes(lstm, &stream) == 0 && strstr(unroll_last_error(), "a stream supports only"), "%s",
          unroll_last_error());
    for (int exact = 0; exact < 2; exact++) {
        with = c, with.machine.time_tolerance = 0, with.machine.exact = exact;
        unroll_session_free(open_with(paragru, with));
    }
    unroll_model_free(lstm);
    unroll_model_free(paragru);
    CHECK(pieces_chosen("lstm", UNROLL_INFER, 640, 1) == 1 && pieces_chosen("lstm", UNROLL_INFER, 4096, 1) == 4 &&
              pieces_chosen("gru", UNROLL_MODULE, 32768, 1) == 16 &&
              pieces_chosen("sru", UNROLL_INFER, 16384, 4) == 4 && pieces_chosen("sru", UNROLL_INFER, 16384, 16) == 1 &&
              pieces_chosen("paragru", UNROLL_MODULE, 16384, 1) == 1,
          "other pieces are chosen");
}

int main(void)
{
    test_ways();
    test_isas();
    test_chaos();
    test_sums();
    test_going_back();
    test_requests();
    return check_finish("test_pieces");
}
