/* The functions of a cell's sums (no guard: each variant of a cell has its own): sigmoid for gates, tanh for
 * candidates. With CELL_CLIPS their inputs are clipped to [-clip, clip]. With CELL_CHOOSES they are configurable
 * (any.h), optionally clipped, and an LSTM's gates may be coupled. Slopes are computed from values. */
#undef GATE
#undef GATE_SLOPE
#undef CANDIDATE
#undef CANDIDATE_SLOPE
#undef STATE_VALUE
#undef STATE_SLOPE
#undef IS_INPUT_FORGET
#if defined CELL_CHOOSES
#include "nn/cells/any.h"
#define GATE(sum)           any_gate(v->choice, 0, sum)
#define GATE_SLOPE(y)       any_gate_slope(v->choice, 0, y)
#define CANDIDATE(sum)      any_gate(v->choice, 1, sum)
#define CANDIDATE_SLOPE(y)  any_gate_slope(v->choice, 1, y)
#define STATE_VALUE(x)      any_value(&v->choice->function[2], x)
#define STATE_SLOPE(y)      any_slope(&v->choice->function[2], y)
#define IS_INPUT_FORGET          v->choice->input_forget
#elif defined CELL_CLIPS
#define GATE(sum)           v_sigmoid(v_clip(sum, v->option.clip))
#define GATE_SLOPE(y)       v_clipped_sigmoid_slope(y, v->option.clip)
#define CANDIDATE(sum)      v_tanh(v_clip(sum, v->option.clip))
#define CANDIDATE_SLOPE(y)  v_clipped_tanh_slope(y, v->option.clip)
#else
#define GATE(sum)           v_sigmoid(sum)
#define GATE_SLOPE(y)       v_sigmoid_slope(y)
#define CANDIDATE(sum)      v_tanh(sum)
#define CANDIDATE_SLOPE(y)  v_tanh_slope(y)
#endif
#ifndef CELL_CHOOSES
#define STATE_VALUE(x)      v_tanh(x)
#define STATE_SLOPE(y)      v_tanh_slope(y)
#define IS_INPUT_FORGET          0
#endif
