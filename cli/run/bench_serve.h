/* unroll bench --serve: load for a running `unroll serve`, at a rate that does not wait for answers. */
#pragma once
#include "cli/options/options.h"

/* Measures the server of --serve and prints percentiles of the latency. Prints errors. */
unroll_status bench_serve(const struct settings *settings);
