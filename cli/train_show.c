/* What people see of a training while it runs: the live line of a terminal or a line now and then, and samples of what
 * a model writes. */
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "stopwatch.h"
#include "train_loop.h"

enum { BAR = 10, SAMPLE_LENGTH = 72, SAMPLE_WORDS = 15 };

static const double redraw_seconds = 0.1, plain_seconds = 10;

double loop_seconds(const struct loop *loop) { return seconds_now() - loop->t->began; }

/* Of the newest tenth of the steps, at most LOSSES: one batch's loss jumps too much to be read, and at the
 * beginning an older one says nothing about now. */
double loop_loss(const struct loop *loop)
{
    int64_t tenth = loop->progress.step / 10 + 1, count = tenth < LOSSES ? tenth : LOSSES;
    double sum = 0;
    if (count > loop->steps_here)
        count = loop->steps_here;
    for (int64_t i = 1; i <= count; i++) sum += loop->losses[(loop->steps_here - i) % LOSSES];
    return count ? sum / (double)count : loop->t->run.loss;
}

/* Items per second, as if every step read as many. */
double loop_speed(const struct loop *loop, int64_t steps, double stepping)
{
    double of_a_step = (double)loop->progress.items / (double)loop->progress.step;
    return stepping > 0 ? (double)steps * of_a_step / stepping : NAN;
}

static double mean_speed(const struct loop *loop) { return loop_speed(loop, loop->steps_here, loop->stepping); }

/* 0 to 1. */
double loop_part_done(const struct loop *loop)
{
    const struct training *t = loop->t;
    if (isinf(t->end_seconds))
        return fmin(1, (double)loop->progress.step / (double)t->end_step);
    return fmin(1, (t->ranks.comm ? loop->agreed : loop_seconds(loop)) / t->end_seconds);
}

static double seconds_left(const struct loop *loop)
{
    const struct training *t = loop->t;
    if (!isinf(t->end_seconds))
        return t->end_seconds - loop_seconds(loop);
    double here = loop_seconds(loop) - t->run.seconds;
    return here / (double)loop->steps_here * (double)(t->end_step - loop->progress.step);
}

void loop_describe(const struct loop *loop, bool has_room, char line[ROOM])
{
    char epoch[NUMBER_TEXT] = "", step[NUMBER_TEXT], speed[NUMBER_TEXT], left[NUMBER_TEXT],
         validation[NUMBER_TEXT] = "", norm[NUMBER_TEXT] = "";
    if (!isnan(loop->t->run.validation))
        snprintf(validation, sizeof validation, "  val %.3f", loop->t->run.validation);
    if (has_room) {
        snprintf(epoch, sizeof epoch, "  epoch %.2f", loop->progress.epoch);
        snprintf(norm, sizeof norm, "  grad %.2g", loop->progress.norm);
    }
    snprintf(line, ROOM, "step %s%s  loss %.3f%s  lr %.2g%s  %s %s/s  ETA %s", with_commas(step, loop->progress.step),
             epoch, loop_loss(loop), validation, loop->progress.learning_rate, norm,
             with_prefix(speed, mean_speed(loop)), loop->progress.item, as_clock(left, seconds_left(loop)));
}

static void show_live(struct loop *loop, double now)
{
    char text[ROOM], line[ROOM + BAR + 16], bar[BAR + 1] = "";
    double part = loop_part_done(loop);
    if (!console_is_live() || now - loop->at.drawn < redraw_seconds)
        return;
    loop->at.drawn = now;
    loop_describe(loop, false, text);
    for (int i = 0; i < BAR; i++) bar[i] = part * BAR >= i + 0.5 ? '-' : '.';
    snprintf(line, sizeof line, "%3.0f%% %s %s", 100 * part, bar, text);
    say_live(line);
}

static void show_plain(struct loop *loop, double now)
{
    char text[ROOM];
    bool is_said = loop->validated == loop->progress.step; /* by the validation */
    if (console_is_live() || is_said || (now - loop->at.printed < plain_seconds && loop->steps_here > 1))
        return;
    loop->at.printed = now;
    loop_describe(loop, true, text);
    say("%s", text);
}

/* Writes a token behind the others in a line, on which control characters would do harm. */
static int append_symbol(void *arg, const char *symbol)
{
    char *line = arg;
    size_t length = strlen(line), more = strlen(symbol);
    if (*symbol == '\n')
        symbol = " / ", more = 3;
    else if ((unsigned char)*symbol < ' ' || *symbol == 127)
        symbol = ".", more = 1;
    if (length + more >= 4 * SAMPLE_LENGTH)
        return 1;
    memcpy(line + length, symbol, more + 1);
    return 0;
}

static unroll_status show_sample(struct loop *loop, double now)
{
    const struct settings *s = loop->t->settings;
    unroll_sample_config config = unroll_sample_default();
    char text[4 * SAMPLE_LENGTH + 1] = "", line[sizeof text + 8];
    double every = number_of(s, OPTION_SAMPLE_EVERY);
    bool wanted = console_is_live() || s->of[OPTION_SAMPLE_EVERY].source > SOURCE_RUN;
    if (every == 0 || !wanted || !unroll_can_sample(loop->t->model) || is_on(s, OPTION_QUIET) ||
        now - loop->at.sampled < every || loop->t->ranks.comm)
        return UNROLL_OK; /* of many ranks none has the whole model */
    loop->at.sampled = now;
    config.length = unroll_model_token_kind(loop->t->model) == UNROLL_WORDS ? SAMPLE_WORDS : SAMPLE_LENGTH;
    config.temperature = 0.8;
    config.seed = (uint64_t)loop->progress.step;
    TRY(complain_library(unroll_sample(loop->t->model, &config, append_symbol, text)));
    snprintf(line, sizeof line, "  \"%s\"", text);
    say_dim(line);
    return UNROLL_OK;
}

unroll_status loop_show(struct loop *loop, double now)
{
    show_plain(loop, now);
    unroll_status status = show_sample(loop, now);
    show_live(loop, now);
    return status;
}
