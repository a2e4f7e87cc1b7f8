/* Displays a training while it runs: a live line on a terminal or a line at intervals, and samples of generated
 * text. */
#include <stdio.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/options/network.h"
#include "cli/show/stopwatch.h"
#include "cli/options/network.h"
#include "cli/run/train_loop.h"

enum { BAR = 10, SAMPLE_LENGTH = 72, SAMPLE_WORDS = 15 };

static const double redraw_seconds = 0.1, plain_seconds = 10;

double loop_seconds(const struct loop *loop) { return seconds_now() - loop->t->began; }

/* Returns the mean of the newest tenth of the steps, at most LOSSES. The loss of one batch varies too much to be
 * readable, and early losses are soon outdated. */
double loop_loss(const struct loop *loop)
{
    int64_t tenth = loop->progress.step / 10 + 1, count = tenth < LOSSES ? tenth : LOSSES;
    double sum = 0;
    if (count > loop->steps_here)
        count = loop->steps_here;
    for (int64_t i = 1; i <= count; i++) sum += loop->losses[(loop->steps_here - i) % LOSSES];
    return count ? sum / (double)count : loop->t->run.loss;
}

/* Returns items per second, as if every step read the same number of items. */
double loop_speed(const struct loop *loop, int64_t steps, double stepping)
{
    double of_a_step = (double)loop->progress.items / (double)loop->progress.step;
    return stepping > 0 ? (double)steps * of_a_step / stepping : NAN;
}

static double mean_speed(const struct loop *loop) { return loop_speed(loop, loop->steps_here, loop->stepping); }

/* Returns a value from 0 to 1. */
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

enum { FIELDS = 8, FIELD_TEXT = 2 * NUMBER_TEXT };

static void describe_validation(const struct loop *loop, char text[FIELD_TEXT])
{
    const struct run *run = &loop->t->run;
    const bool is_best = loop->validated == loop->progress.step && loop->progress.since_best == 0;
    char number[NUMBER_TEXT];
    if (isnan(run->validation))
        *text = '\0';
    else
        snprintf(text, FIELD_TEXT, "  val %s %s%s", *run->metric.name ? run->metric.name : "loss",
                 metric_number(*run->metric.name ? run->metric.value : run->validation, 3, number),
                 is_best ? " best" : "");
}

/* Writes the fields in order, and leaves out the least important ones until the line fits. */
void loop_describe(const struct loop *loop, int width, char line[ROOM])
{
    static const int dropped[] = {5, 6, 4, 1}; /* gradient, speed, learning rate, epoch */
    char field[FIELDS][FIELD_TEXT] = {""}, number[NUMBER_TEXT];
    snprintf(field[0], sizeof *field, "step %s", with_commas(number, loop->progress.step));
    snprintf(field[1], sizeof *field, "  epoch %.2f", loop->progress.epoch);
    snprintf(field[2], sizeof *field, "  loss %.3f", loop_loss(loop));
    describe_validation(loop, field[3]);
    snprintf(field[4], sizeof *field, "  lr %.2g", loop->progress.learning_rate);
    snprintf(field[5], sizeof *field, "  grad %.2g", loop->progress.norm);
    snprintf(field[6], sizeof *field, "  %s %s/s", with_prefix(number, mean_speed(loop)), loop->progress.item);
    snprintf(field[7], sizeof *field, "  ETA %s", as_clock(number, seconds_left(loop)));
    size_t length = 0, drop = 0;
    for (int i = 0; i < FIELDS; i++) length += strlen(field[i]);
    for (; length > (size_t)width && drop < sizeof dropped / sizeof *dropped; drop++) {
        length -= strlen(field[dropped[drop]]);
        *field[dropped[drop]] = '\0';
    }
    *line = '\0';
    for (int i = 0; i < FIELDS; i++) strncat(line, field[i], ROOM - strlen(line) - 1);
}

static void show_live(struct loop *loop, double now)
{
    char text[ROOM], line[ROOM + BAR + 16], bar[BAR + 1] = "";
    double part = loop_part_done(loop);
    if (!console_is_live() || now - loop->at.drawn < redraw_seconds)
        return;
    loop->at.drawn = now;
    loop_describe(loop, LINE_WIDTH - BAR - 6, text);
    for (int i = 0; i < BAR; i++) bar[i] = part * BAR >= i + 0.5 ? '-' : '.';
    snprintf(line, sizeof line, "%3.0f%% %s %s", 100 * part, bar, text);
    say_live(line);
}

static void show_plain(struct loop *loop, double now)
{
    char text[ROOM];
    bool is_said = loop->validated == loop->progress.step; /* printed by the validation */
    if (console_is_live() || is_said || (now - loop->at.printed < plain_seconds && loop->steps_here > 1))
        return;
    loop->at.printed = now;
    loop_describe(loop, LINE_WIDTH, text);
    say("%s", text);
}

/* Appends a token to a line, with control characters replaced. */
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

/* Prints a sample of the model's text if one is due. */
static unroll_status show_sample(struct loop *loop, double now)
{
    const struct settings *s = loop->t->settings;
    unroll_sample_config config = unroll_sample_config_default();
    char text[4 * SAMPLE_LENGTH + 1] = "", line[sizeof text + 8];
    double every = number_of(s, OPTION_SAMPLE_EVERY);
    bool wanted = console_is_live() || s->of[OPTION_SAMPLE_EVERY].source > SOURCE_RUN;
    if (every == 0 || !wanted || !unroll_model_can_sample(loop->t->model) || is_on(s, OPTION_QUIET) ||
        now - loop->at.sampled < every || loop->t->ranks.comm)
        return UNROLL_OK; /* with several ranks none has the whole model */
    loop->at.sampled = now;
    config.length = model_has_words(loop->t->model) ? SAMPLE_WORDS : SAMPLE_LENGTH;
    config.temperature = 0.8;
    config.seed = (uint64_t)loop->progress.step;
    TRY(complain_library(unroll_model_sample(loop->t->model, &config, append_symbol, text)));
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
