/* Public structs that start with their size, for callers compiled with another version of the headers. A smaller struct
 * has fewer fields: the missing ones keep their defaults. A larger one is accepted if the fields that this library does
 * not have are 0. New fields are appended, never put into padding. Structs without a size never change their layout. */
#pragma once
#include <stddef.h>

#include "base/status.h"

/* A sized struct embedded in another one. Its size never changes: new fields use reserved bytes. */
struct sized_part {
    size_t at, size, reserved; /* bytes; the reserved ones are at its end and must be 0 */
    const char *name, *begin;  /* "machine", "unroll_machine_default()"; name NULL: end of the list */
};

enum { SIZED_PARTS = 2 };
struct sized {
    const char *type, *begin; /* "unroll_model_config", "unroll_model_config_default()" */
    size_t size, reserved;
    struct sized_part part[SIZED_PARTS]; /* by increasing offset */
};

/* Copies a caller's struct to `to`, which contains the defaults. Fails if the struct is NULL, has no plausible size, or
 * sets a field that this library does not have. */
unroll_status sized_take(const struct sized *type, const void *given, void *to);

/* Checks a caller's struct that a function fills, like sized_take. */
unroll_status sized_check(const struct sized *type, const void *given);

/* Copies a struct to a caller's, at most the caller's size. The caller's `size` is kept. */
void sized_give(const void *from, size_t size, void *given);

/* Copies `count` consecutive structs, all of the first one's size. `to` contains the defaults. */
unroll_status sized_take_all(const struct sized *type, const void *given, int count, void *to);

/* Writes the defaults and the size to a caller's struct of given_size bytes. */
void sized_begin(const void *standard, size_t size, void *given, size_t given_size);

#define SIZED(type_, begin_) (&(const struct sized){.type = #type_, .begin = begin_, .size = sizeof(type_)})
#define SIZED_WITH(type_, begin_, ...) \
    (&(const struct sized){.type = #type_, .begin = begin_, .size = sizeof(type_), .part = {__VA_ARGS__}})
#define PART(type_, field, begin_) {offsetof(type_, field), sizeof(((type_ *)0)->field), sizeof ((type_ *)0)->field.reserved, #field, begin_}
#define MACHINE_OF(type_) PART(type_, machine, "unroll_machine_default()")

#define SIZED_MACHINE (&(const struct sized){"unroll_machine", "unroll_machine_default()", sizeof(unroll_machine), sizeof ((unroll_machine *)0)->reserved, {{0}}})
#define SIZED_PLAN SIZED_WITH(unroll_plan_config, "unroll_plan_config_default()", MACHINE_OF(unroll_plan_config))
#define SIZED_SPEC SIZED(unroll_model_config, "unroll_model_config_default()")
/* A struct that a function fills has no default. */
#define SIZED_RESULT(type_) SIZED(type_, "{ .size = sizeof(" #type_ ") }")
