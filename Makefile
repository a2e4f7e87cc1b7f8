# make            builds build/unroll and build/libunroll.a
# make demo       installs what is needed, builds, trains a network on text for a minute
# make test       installs what the tests need, builds and runs them all
# make help       the longer targets
#
# Flags: no contraction of a * b + c anywhere: it is fused where a kernel says so and nowhere else, so
# that every instruction set gives the same bits.
B       ?= build
CC      ?= gcc
CFLAGS  ?= -O2
WARN     = -Wall -Wextra -Wpedantic
FLAGS    = -std=c11 -ffp-contract=off -fvisibility=hidden -D_GNU_SOURCE -Iinclude -Isrc -MMD -MP $(WARN) $(SANITIZE)
LIBS     = -ljansson -lm -pthread
ARCH    := $(shell uname -m)

ISA_avx2   = -mavx2 -mfma
ISA_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma
ISA_SOURCES = %_avx2.c %_avx512.c %_neon.c

SOURCES := $(wildcard src/*/*.c src/device/cpu/*.c)
ifeq ($(ARCH),x86_64)
SOURCES := $(filter-out %_neon.c,$(SOURCES))
else
SOURCES := $(filter-out %_avx2.c %_avx512.c,$(SOURCES))
endif
OBJECTS := $(SOURCES:%.c=$B/%.o)
CLI     := $(patsubst %.c,$B/%.o,$(wildcard cli/*.c))

all: $B/unroll

$B/unroll: $(CLI) $B/libunroll.a
	$(CC) $(CFLAGS) $(SANITIZE) $^ $(LIBS) -o $@

$B/libunroll.a: $(OBJECTS)
	rm -f $@
	ar rcs $@ $^

$B/%_avx2.o: %_avx2.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_avx2) -c $< -o $@
$B/%_avx512.o: %_avx512.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) $(ISA_avx512) -c $< -o $@
$B/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FLAGS) -c $< -o $@

-include $(OBJECTS:.o=.d) $(CLI:.o=.d)

clean:
	rm -rf $B
.PHONY: all clean
