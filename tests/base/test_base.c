/* Tests src/base without threads: errors, types, memory, random numbers, processors. Uses published test vectors where
 * available, otherwise cases made by hand. Files and JSON are in test_files.c, teams and barriers in test_team.c. */
/* test: kinds=check-plain,memory */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/system/processor.h"
#include "base/dtype.h"
#include "base/system/library.h"
#include "base/memory.h"
#include "base/system/memory_limit.h"
#include "base/number.h"
#include "base/philox.h"
#include "base/sized.h"
#include "base/status.h"
#include "check.h"
#include "temporary.h"
#include "unroll_advanced.h"

static bool says(const char *part) { return strstr(unroll_last_error(), part) != NULL; }

/* ---- numbers as text ---- */

static void test_integers(void)
{
    static const struct {
        const char *text;
        int64_t min, max;
        enum number_state state;
        int64_t value;
    } cases[] = {{"0", 0, 9, NUMBER_OK, 0},
                 {"007", 0, 9, NUMBER_OK, 7},
                 {"-3", -3, 3, NUMBER_OK, -3},
                 {"-0", 0, 9, NUMBER_OK, 0},
                 {"9223372036854775807", 0, INT64_MAX, NUMBER_OK, INT64_MAX},
                 {"-9223372036854775808", INT64_MIN, 0, NUMBER_OK, INT64_MIN},
                 {"9223372036854775808", 0, INT64_MAX, NUMBER_OUTSIDE, 0},
                 {"-9223372036854775809", INT64_MIN, 0, NUMBER_OUTSIDE, 0},
                 {"18446744073709551617", 0, INT64_MAX, NUMBER_OUTSIDE, 0},
                 {"4294967297", 0, INT32_MAX, NUMBER_OUTSIDE, 0},
                 {"99999999999999999999999999", INT64_MIN, INT64_MAX, NUMBER_OUTSIDE, 0},
                 {"-1", 0, 9, NUMBER_OUTSIDE, 0},
                 {"", 0, 9, NUMBER_NONE, 0},
                 {"-", -9, 9, NUMBER_NONE, 0},
                 {"--1", -9, 9, NUMBER_NONE, 0},
                 {"+1", 0, 9, NUMBER_NONE, 0},
                 {" 1", 0, 9, NUMBER_NONE, 0},
                 {"1 ", 0, 9, NUMBER_NONE, 0},
                 {"1x", 0, 9, NUMBER_NONE, 0},
                 {"0x1", 0, 9, NUMBER_NONE, 0},
                 {"1.0", 0, 9, NUMBER_NONE, 0},
                 {"1e0", 0, 9, NUMBER_NONE, 0},
                 {"nan", 0, 9, NUMBER_NONE, 0},
                 {"99999999999999999999x", 0, 9, NUMBER_NONE, 0}};
    const char *at = "12,3", *end = at + 1;
    int64_t value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum number_state state = number_whole_integer(cases[i].text, cases[i].min, cases[i].max, &value);
        CHECK(state == cases[i].state && (state != NUMBER_OK || value == cases[i].value), "'%s'", cases[i].text);
    }
    CHECK(number_integer(&at, NULL, 0, 99, &value) == NUMBER_OK && value == 12 && *at == ',', "12 of 12,3");
    CHECK(number_integer(&at, NULL, 0, 99, &value) == NUMBER_NONE && *at == ',', "it stays where it is");
    at = end - 1;
    CHECK(number_integer(&at, end, 0, 99, &value) == NUMBER_OK && value == 1 && at == end, "no further than the end");
}

static void test_reals(void)
{
    static const struct {
        const char *text;
        enum number_state state;
        double value;
    } cases[] = {{"0.5", NUMBER_OK, 0.5},       {".5", NUMBER_OK, 0.5},        {"5.", NUMBER_OK, 5},
                 {"-2e-1", NUMBER_OK, -0.2},    {"+1E2", NUMBER_OK, 100},      {"1e-999", NUMBER_OK, 0},
                 {"1000", NUMBER_OK, 1000},     {"1000.1", NUMBER_OUTSIDE, 0}, {"1e999", NUMBER_OUTSIDE, 0},
                 {"-1e999", NUMBER_OUTSIDE, 0}, {"", NUMBER_NONE, 0},          {".", NUMBER_NONE, 0},
                 {"-", NUMBER_NONE, 0},         {"e5", NUMBER_NONE, 0},        {"1e", NUMBER_NONE, 0},
                 {"1e+", NUMBER_NONE, 0},       {"0x10", NUMBER_NONE, 0},      {"nan", NUMBER_NONE, 0},
                 {"inf", NUMBER_NONE, 0},       {"-infinity", NUMBER_NONE, 0}, {" 1", NUMBER_NONE, 0},
                 {"1 ", NUMBER_NONE, 0},        {"1,5", NUMBER_NONE, 0},       {"1..2", NUMBER_NONE, 0}};
    const char *at = "0.25m";
    double value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum number_state state = number_whole_real(cases[i].text, -1000, 1000, &value);
        CHECK(state == cases[i].state && (state != NUMBER_OK || value == cases[i].value), "'%s'", cases[i].text);
    }
    CHECK(number_real(&at, 0, 1, &value) == NUMBER_OK && value == 0.25 && *at == 'm', "0.25 of 0.25m");
    at = "1e999";
    CHECK(number_real(&at, -INFINITY, INFINITY, &value) == NUMBER_OUTSIDE && *at == '\0', "no infinity");
}

/* ---- status, dtype, memory ---- */

static unroll_status fails_inside(int *reached)
{
    TRY(fail(UNROLL_DIVERGED, "value %d", 7));
    *reached = 1;
    return UNROLL_OK;
}

static void test_status(void)
{
    int reached = 0;
    char long_text[5000];
    CHECK(fails_inside(&reached) == UNROLL_DIVERGED && !reached, "TRY went on");
    CHECK(strcmp(unroll_last_error(), "value 7") == 0, "'%s'", unroll_last_error());
    (void)fail(UNROLL_DATA, "outer: %s", unroll_last_error());
    CHECK(strcmp(unroll_last_error(), "outer: value 7") == 0, "'%s'", unroll_last_error());
    (void)fail(UNROLL_DATA, "a\033[2Jb\x7f\nc\xc3\xa9");
    CHECK(strcmp(unroll_last_error(), "a?[2Jb?\nc\xc3\xa9") == 0, "'%s'", unroll_last_error());
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    (void)fail(UNROLL_DATA, "%s", long_text);
    CHECK(strlen(unroll_last_error()) == 2047, "%zu", strlen(unroll_last_error()));
}

struct logged {
    int notes, errors;
    char last[256];
};

static void keep_line(void *arg, unroll_log_kind kind, const char *line)
{
    struct logged *l = arg;
    *(kind == UNROLL_LOG_NOTE ? &l->notes : &l->errors) += 1;
    snprintf(l->last, sizeof l->last, "%s", line);
}

static void test_log(void)
{
    struct logged logged = {0};
    unroll_set_log(keep_line, &logged);
    (void)fail(UNROLL_DATA, "first\nsecond");
    CHECK(logged.errors == 1 && !strcmp(logged.last, "first second"), "%d '%s'", logged.errors, logged.last);
    CHECK(strcmp(unroll_last_error(), "first\nsecond") == 0, "'%s'", unroll_last_error());
    add_note("a note of %d", 3);
    CHECK(logged.notes == 1 && !strcmp(logged.last, "a note of 3"), "%d '%s'", logged.notes, logged.last);
    unroll_set_log(NULL, NULL);
    (void)fail(UNROLL_DATA, "not logged");
    CHECK(logged.errors == 1, "%d errors", logged.errors);
    clear_notes();
}

static void test_names_of_statuses(void)
{
    static const int known[] = {0, 1, 2, 3, 4, 5, 6, 7, 75};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK(unroll_status_name((unroll_status)known[i]), "no name of status %d", known[i]);
    CHECK(!strcmp(unroll_status_name(UNROLL_COMMUNICATION), "communication"), "the name of 7");
    CHECK(!unroll_status_name((unroll_status)8) && !unroll_status_name((unroll_status)-1), "8 and -1 have none");
}

static void test_versions(void)
{
    CHECK(unroll_version_check(UNROLL_VERSION_MAJOR, UNROLL_VERSION_MINOR) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(unroll_version_check(0, 2) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(unroll_version_check(0, 1) == UNROLL_UNSUPPORTED, "names of 0.1 are others");
    CHECK(unroll_version_check(UNROLL_VERSION_MAJOR, UNROLL_VERSION_MINOR + 1) == UNROLL_UNSUPPORTED, "a later one");
    CHECK(says("the program was compiled with headers of version 0.") && says("; fix: "), "'%s'", unroll_last_error());
    CHECK(unroll_version_check(UNROLL_VERSION_MAJOR + 1, 0) == UNROLL_UNSUPPORTED, "another major version");
}

/* A configuration struct. The caller's headers may have only its first field, all of them, or one more. */
struct grown {
    size_t size;
    int first;
    unroll_machine machine;
    int last;
    int newer;
};

static unroll_status take_grown(const void *given, struct grown *to)
{
    const struct sized type = {.type = "grown",
                               .begin = "grown_default()",
                               .size = offsetof(struct grown, newer),
                               .part = {PART(struct grown, machine, "unroll_machine_default()")}};
    *to = (struct grown){.first = 1, .machine = unroll_machine_default(), .last = 3, .newer = 4};
    return sized_take(&type, given, to);
}

static void test_sized_parts(void)
{
    struct grown to, given = {.size = offsetof(struct grown, newer), .first = 7, .last = 0};
    CHECK(take_grown(&given, &to) == UNROLL_OK && to.machine.pieces == 1, "a part of zeros is not the default");
    CHECK(to.first == 7 && to.last == 0 && to.newer == 4, "%d %d %d", to.first, to.last, to.newer);
    given.machine = unroll_machine_default(), given.machine.threads = 5;
    CHECK(take_grown(&given, &to) == UNROLL_OK && to.machine.threads == 5, "a part is not taken");
    given.machine.reserved[5] = 1;
    CHECK(take_grown(&given, &to) == UNROLL_UNSUPPORTED && says("`machine` of grown sets a field"), "%s",
          unroll_last_error());
    given.machine.reserved[5] = 0, given.machine.size--;
    CHECK(take_grown(&given, &to) == UNROLL_USAGE && says("`machine` of grown is wrong"), "%s", unroll_last_error());
}

static void test_sized(void)
{
    struct grown to, given = {.size = offsetof(struct grown, machine), .first = 7};
    CHECK(take_grown(&given, &to) == UNROLL_OK && to.first == 7 && to.last == 3 && to.machine.pieces == 1,
          "fewer fields");
    CHECK(to.size == offsetof(struct grown, newer), "the size is the library's");
    given.size = sizeof given;
    CHECK(take_grown(&given, &to) == UNROLL_OK && to.newer == 4, "a newer field of 0");
    given.newer = 1;
    CHECK(take_grown(&given, &to) == UNROLL_UNSUPPORTED && says("grown sets a field that this library"), "%s",
          unroll_last_error());
    static const size_t wrong[] = {0, sizeof(size_t), 100000, SIZE_MAX};
    for (int i = 0; i < 4; i++) {
        given.size = wrong[i];
        CHECK(take_grown(&given, &to) == UNROLL_USAGE && says("fix: start from grown_default()"), "size %zu", wrong[i]);
    }
    CHECK(take_grown(NULL, &to) == UNROLL_USAGE && says("grown is NULL"), "%s", unroll_last_error());
}

static void test_dtype(void)
{
    static const struct {
        const char *name;
        enum dtype dtype;
        size_t size;
    } known[] = {{"F64", DTYPE_F64, 8},  {"F32", DTYPE_F32, 4}, {"F16", DTYPE_F16, 2}, {"BF16", DTYPE_BF16, 2},
                 {"I64", DTYPE_I64, 8},  {"I32", DTYPE_I32, 4}, {"I16", DTYPE_I16, 2}, {"I8", DTYPE_I8, 1},
                 {"U64", DTYPE_U64, 8},  {"U32", DTYPE_U32, 4}, {"U16", DTYPE_U16, 2}, {"U8", DTYPE_U8, 1},
                 {"BOOL", DTYPE_BOOL, 1}};
    enum dtype dtype = DTYPE_COUNT;
    CHECK(sizeof known / sizeof *known == DTYPE_COUNT, "a type without a test");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK(dtype_parse(known[i].name, &dtype) && dtype == known[i].dtype, "%s", known[i].name);
        CHECK(dtype_size(dtype) == known[i].size, "%s", known[i].name);
        CHECK(strcmp(dtype_name(dtype), known[i].name) == 0, "%s", known[i].name);
    }
    CHECK(!dtype_parse("f32", &dtype) && !dtype_parse("", &dtype), "taken for a type");
}

/* Compares every finite half with sign * fraction * 2^exponent in double. */
static void test_f16(void)
{
    int wrong = 0;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        float got = f16_to_f32((uint16_t)bits);
        double expected = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        if (exponent == 31)
            wrong += fraction ? !isnan(got) : !isinf(got);
        else
            wrong += (double)got != (bits >> 15 ? -expected : expected);
        wrong += !signbit(got) != !(bits >> 15);
    }
    CHECK(wrong == 0, "%d of 65536 halves", wrong);
    CHECK(bf16_to_f32(0x3f80) == 1.0f && bf16_to_f32(0xc049) == -3.140625f, "bf16 values");
    CHECK(isinf(bf16_to_f32(0x7f80)) && isnan(bf16_to_f32(0x7f81)), "bf16 infinity and NaN");
}

/* Every half is converted back exactly. The middle of two neighbors is rounded to the even one, other values to the
 * nearer. */
static void test_to_f16(void)
{
    int wrong = 0;
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        float low = f16_to_f32((uint16_t)bits), high = bits == 0x7bff ? 65536 : f16_to_f32((uint16_t)(bits + 1));
        float middle = low + (high - low) / 2;
        wrong += f32_to_f16(low) != bits || f32_to_f16(-low) != (bits | 0x8000u);
        wrong += f32_to_f16(middle) != (bits & 1 ? bits + 1 : bits);
        wrong += f32_to_f16(nextafterf(middle, 0)) != bits || f32_to_f16(nextafterf(middle, INFINITY)) != bits + 1;
    }
    CHECK(wrong == 0, "%d roundings to a half", wrong);
    CHECK(f32_to_f16(INFINITY) == 0x7c00 && f32_to_f16(-1e9f) == 0xfc00 && isnan(f16_to_f32(f32_to_f16(NAN))),
          "halves at infinity and NaN");
}

static void test_memory(void)
{
    uint64_t before = memory_allocations(), live = memory_live();
    unsigned char *block = allocate_zeroed(3, 37), *empty = allocate_zeroed(0, 8);
    int sum = 0;
    CHECK(block && empty && (uintptr_t)block % 64 == 0 && (uintptr_t)empty % 64 == 0, "alignment");
    for (int i = 0; block && i < 111; i++) sum += block[i];
    CHECK(sum == 0, "not zeroed");
    CHECK(memory_allocations() == before + 2 && memory_live() == live + 2, "counts");
    CHECK(allocate_zeroed(SIZE_MAX / 2, 3) == NULL, "a product that overflows");
    CHECK(allocate_zeroed(SIZE_MAX - 7, 1) == NULL, "a rounding that overflows");
    release(block);
    release(empty);
    release(NULL);
    CHECK(memory_allocations() == before + 2 && memory_live() == live, "counts after release");

    memory_fail_after(1);
    void *first = allocate_zeroed(1, 1), *second = allocate_zeroed(1, 1);
    memory_fail_after(-1);
    void *third = allocate_zeroed(1, 1);
    CHECK(first && !second && third, "fault injection: %p %p %p", first, second, third);
    release(first);
    release(third);

    unsigned char *large = allocate_zeroed(5, 1 << 20);
    CHECK(large && (uintptr_t)large % (2 << 20) == 0, "a large array has no large pages of its own");
    CHECK(large && !large[0] && !memcmp(large, large + 1, (5 << 20) - 1), "a large array is not zeroed");
    release(large);
}

/* ---- random numbers ---- */

/* The known answers that the authors of Philox publish with Random123 1.14 for philox4x32 with 10 rounds. */
static void test_philox(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                  {0xffffffff, 0xffffffff},
                  {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                  {0xa4093822, 0x299f31d0},
                  {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    uint32_t out[4];
    for (int i = 0; i < 3; i++) {
        philox(known[i].key, known[i].counter, out);
        CHECK(memcmp(out, known[i].out, sizeof out) == 0, "vector %d: %08x %08x %08x %08x", i, out[0], out[1], out[2],
              out[3]);
    }
    CHECK(philox_unit(0) == 0 && philox_unit(0xffffffff) == 1 - 0x1p-24f, "ends of the unit interval");
}

static void test_rng(void)
{
    struct rng rng = rng_new(0, 0), copy;
    int counts[7] = {0}, resumed_wrong = 0;
    double sum = 0;
    CHECK(rng_next_u32(&rng) == 0x6627e8d5 && rng_next_u32(&rng) == 0xe169c58d, "first words of seed 0");
    for (int drawn = 2; drawn < 40; drawn++) {
        copy = rng_at(0, 0, rng.position);
        resumed_wrong += rng_next_u32(&rng) != rng_next_u32(&copy);
    }
    CHECK(resumed_wrong == 0, "%d words differ after rng_at", resumed_wrong);
    copy = rng_new(0, 1);
    CHECK(rng_next_u32(&copy) != 0x6627e8d5, "streams are equal");

    enum { DRAWS = 70000 };
    for (int i = 0; i < DRAWS; i++) {
        sum += rng_uniform(&rng);
        counts[rng_below(&rng, 7)]++;
    }
    CHECK(fabs(sum / DRAWS - 0.5) < 5 * 0.2887 / sqrt(DRAWS), "mean %g", sum / DRAWS);
    for (int i = 0; i < 7; i++) /* five standard deviations of a count */
        CHECK(abs(counts[i] - DRAWS / 7) < 5 * 93, "%d drawn %d times", i, counts[i]);
    CHECK(rng_below(&rng, 1) == 0, "below 1");
    int above = 0; /* 2^63 + 1: almost half of all draws must be rejected */
    for (int i = 0; i < 1000; i++) above += rng_below(&rng, (1ull << 63) + 1) > 1ull << 63;
    CHECK(above == 0, "%d beyond the bound", above);
}

/* ---- processors ---- */

static int quota_of(const char *membership)
{
    write_text(inside("membership"), membership);
    return cpu_quota(inside("cg"), inside("membership"));
}

static void test_memory_of_groups(void)
{
    static const char group[] = "0::/a/b\n";
    write_text(inside("membership"), group);
    CHECK(memory_limit_of_groups(inside("cg"), inside("membership")) == INT64_MAX, "no limit");
    write_text(inside("cg/a/memory.max"), "3000000000\n");
    CHECK(memory_limit_of_groups(inside("cg"), inside("membership")) == 3000000000, "the limit of an ancestor");
    write_text(inside("cg/a/memory.max"), "max\n");
    CHECK(memory_limit_of_groups(inside("cg"), inside("membership")) == INT64_MAX, "max is none");
    CHECK(memory_limit_of_groups("/nowhere", "/nowhere/at/all") == INT64_MAX, "no control groups");
}

static void test_quota(void)
{
    make_directories(inside("cg/a/b"));
    make_directories(inside("cg/cpu,cpuacct/c"));
    CHECK(quota_of("0::/a/b\n") == INT_MAX, "no limit anywhere");
    write_text(inside("cg/a/b/cpu.max"), "max 100000\n");
    write_text(inside("cg/a/cpu.max"), "350000 100000\n");
    CHECK(quota_of("0::/a/b\n") == 3, "the limit of an ancestor, rounded down");
    CHECK(quota_of("0::/not/visible\n") == INT_MAX, "a path that is not there");
    write_text(inside("cg/cpu.max"), "50000 100000\n");
    CHECK(quota_of("0::/not/visible\n") == 1, "half a processor, at the mount");
    write_text(inside("cg/cpu,cpuacct/c/cpu.cfs_quota_us"), "200000\n");
    write_text(inside("cg/cpu,cpuacct/c/cpu.cfs_period_us"), "100000\n");
    CHECK(quota_of("9:memory:/a\n4:cpu,cpuacct:/c\n") == 2, "version 1");
    CHECK(quota_of("4:cpuset:/c\n\nnonsense\n") == INT_MAX, "other controllers");
    write_text(inside("cg/cpu,cpuacct/c/cpu.cfs_quota_us"), "-1\n");
    CHECK(quota_of("4:cpu,cpuacct:/c\n") == INT_MAX, "version 1 without a limit");
    CHECK(cpu_quota("/nowhere", "/nowhere/at/all") == INT_MAX, "no control groups");
}

/* Restricts the process to one of its processors, as taskset does. */
static void test_affinity(void)
{
    cpu_set_t before, one;
    int first = 0;
    if (sched_getaffinity(0, sizeof before, &before) != 0) {
        check_skip("more processors than a cpu_set_t holds");
        return;
    }
    while (!CPU_ISSET(first, &before)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "processor %d alone", first);
    CHECK(cpu_count() == 1, "%d processors where one is allowed", cpu_count());
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0, "all processors again");
}

static void test_cpu(void)
{
    enum isa isa = ISA_COUNT;
    for (int i = 0; i < ISA_COUNT; i++)
        CHECK(isa_parse(isa_name((enum isa)i), &isa) && isa == (enum isa)i, "%s", isa_name((enum isa)i));
    CHECK(!isa_parse("avx9", &isa), "avx9 was found");
    CHECK(isa_available(ISA_SCALAR) && isa_available(isa_best()), "best is not available");
    CHECK(!(isa_available(ISA_NEON) && isa_available(ISA_AVX2)), "two architectures at once");
    CHECK(cpu_count() >= 1 && cpu_count() <= sysconf(_SC_NPROCESSORS_CONF), "%d processors", cpu_count());

    volatile float tiny = 0x1p-126f, half = 0.5f;
    uint64_t mode = cpu_float_mode();
    cpu_flush_denormals();
    float flushed = tiny * half;
    cpu_restore_float_mode(mode);
    float kept = tiny * half;
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK(flushed == 0, "%g was not flushed", (double)flushed);
#else
    (void)flushed;
#endif
    CHECK(kept == 0x1p-127f, "the mode was not restored: %g", (double)kept);
}

/* ---- optional libraries ---- */

/* Memory kept by libraries that are only probed, such as MPI, is not a leak of ours. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
static void count_leaks(bool on) { on ? __lsan_enable() : __lsan_disable(); }
#else
static void count_leaks(bool on) { (void)on; }
#endif

static void test_libraries(void)
{
    double (*cosine)(double) = NULL;
    void *here = NULL;
    unroll_entry entry = {.size = sizeof entry};
    int rows = 0;
    const struct symbol known[] = {{"cos", &cosine, false}, {"no_such_name", &here, true}};
    const struct symbol missing = {"no_such_name", &here, false};
    CHECK(library_open_file("the C library", "libm.so.6", known, 2) == UNROLL_OK && cosine && cosine(0) == 1 && !here,
          "symbols of libm: %s", unroll_last_error());
    CHECK_REFUSED(library_open_file("the C library", "libm.so.6", &missing, 1), UNROLL_UNSUPPORTED,
                  "has no 'no_such_name'");
    CHECK_REFUSED(library_open_file("the C library", "/no/such/file", &missing, 1), UNROLL_DATA, "cannot be loaded");
    setenv("UNROLL_NCCL", "/no/such/file", 1);
    CHECK_REFUSED(library_open(LIBRARY_NCCL, &missing, 1, NULL), UNROLL_DATA, "named by UNROLL_NCCL");
    count_leaks(false);
    for (; unroll_list(UNROLL_LIST_LIBRARIES, rows, &entry); rows++) {
        CHECK(*entry.about && *entry.fix, "library %d: for '%s'; fix: %s", rows, entry.about, entry.fix);
        CHECK(rows != LIBRARY_NCCL || !entry.file, "NCCL was found in '%s'", entry.file);
    }
    count_leaks(true);
    CHECK(rows == LIBRARIES, "%d libraries", rows);
    setenv("UNROLL_NCCL", "libm.so.6", 1);
    CHECK(unroll_list(UNROLL_LIST_LIBRARIES, LIBRARY_NCCL, &entry) && entry.file && strstr(entry.file, "/libm.so.6"),
          "NCCL's place is taken by '%s'", entry.file ? entry.file : "nothing");
    CHECK_REFUSED(library_open(LIBRARY_NCCL, &missing, 1, NULL), UNROLL_UNSUPPORTED, "NCCL 'libm.so.6' has no");
    unsetenv("UNROLL_NCCL");
}

int main(void)
{
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    test_integers();
    test_reals();
    test_status();
    test_log();
    test_sized();
    test_sized_parts();
    test_names_of_statuses();
    test_versions();
    test_dtype();
    test_f16();
    test_to_f16();
    test_memory();
    test_philox();
    test_rng();
    test_quota();
    test_memory_of_groups();
    test_affinity();
    test_cpu();
    test_libraries();
    CHECK(memory_live() == 0, "%d allocations were not released", (int)memory_live());
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("test_base");
}
