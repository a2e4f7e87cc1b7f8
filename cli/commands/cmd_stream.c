/* unroll stream: runs a model on frames or text as they arrive and answers each one at once: one step per frame,
 * with the output flushed after each answer. stepper.c runs the steps; frames.c reads the frames. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/console.h"
#include "cli/run/frames.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/sound/sound_effect.h"
#include "cli/sound/sound_steps.h"
#include "cli/run/stepper.h"
#include "cli/options/symbols.h"
#include "cli/show/wake_word.h"

struct streamer {
    const struct settings *settings;
    unroll_model *model;
    unroll_network network;
    struct network_columns columns; /* of the network, in the order of a frame */
    struct stepper stepper;
    struct symbols symbols;
    struct sound_steps sound; /* of a model that reads sounds */
    struct wake_word wake;
    int width; /* of the outputs */
    float *frame, *numbers, *outputs;
    bool raw;       /* outputs as floats, not as lines */
    bool predicted; /* text: the outputs are probabilities of the next token */
};

static volatile sig_atomic_t stopped;

static void stop(int number) { stopped = number; }

/* Installs handlers without SA_RESTART, so that a signal ends a pending read. SIGPIPE ends the process, as in any
 * filter. */
static void listen_to_signals(void)
{
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- answers ---- */

/* Turns logits into probabilities if the loss is a cross-entropy. */
static void softmax(const struct streamer *s)
{
    double sum = 0, largest = -INFINITY;
    float *z = s->outputs;
    for (int i = 0; i < s->width; i++) largest = fmax(largest, z[i]);
    for (int i = 0; i < s->width; i++) sum += exp(z[i] - largest);
    for (int i = 0; i < s->width && loss_gives_logits(s->network.loss); i++) z[i] = (float)(exp(z[i] - largest) / sum);
}

static unroll_status flush_answer(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return UNROLL_OK;
    return stopped ? UNROLL_OK : UNROLL_RESOURCE; /* main prints the error */
}

static unroll_status write_outputs(struct streamer *s)
{
    if (*s->wake.name && !s->raw)
        return wake_word_step(&s->wake, s->outputs) ? flush_answer() : UNROLL_OK;
    if (s->raw)
        fwrite(s->outputs, sizeof *s->outputs, (size_t)s->width, stdout);
    for (int i = 0; i < s->width && !s->raw; i++)
        printf("%.9g%c", (double)s->outputs[i], i + 1 < s->width ? ',' : '\n');
    return flush_answer();
}

static unroll_status answer(struct streamer *s, const int32_t *tokens, const float *numbers)
{
    TRY(complain_library(stepper_step(&s->stepper, tokens, numbers, s->outputs)));
    softmax(s);
    return UNROLL_OK;
}

/* ---- frames ---- */

static unroll_status take_token(float value, const unroll_input *column, int32_t *token)
{
    if (value != floorf(value) || value < 0 || value >= (float)column->tokens)
        return complain(UNROLL_DATA, "%g is not a token id%s%s; fix: give whole numbers in 0..%d", (double)value,
                        column->name ? " of " : "", column->name ? column->name : "", column->tokens - 1);
    *token = (int32_t)value;
    return UNROLL_OK;
}

/* Runs a step on a frame. It holds the columns in order, with an id for each column of tokens. */
static unroll_status answer_frame(struct streamer *s)
{
    int32_t token[UNROLL_INPUTS_MAX];
    int tokens = 0, numbers = 0;
    const float *at = s->frame;
    for (int i = 0; i < s->columns.count; i++) {
        const unroll_input *column = &s->columns.column[i];
        if (column->tokens)
            TRY(take_token(*at++, column, &token[tokens++]));
        for (int k = 0; k < column->width && !column->tokens; k++) s->numbers[numbers++] = *at++;
    }
    TRY(answer(s, tokens ? token : NULL, numbers ? s->numbers : NULL));
    return write_outputs(s);
}

/* Runs a step on each frame of standard input until its end or a signal. */
static unroll_status stream_frames(struct streamer *s, enum frame_format format)
{
    struct frames frames;
    bool more = true, named = false;
    if (s->columns.tokens && format != FRAMES_CSV)
        return complain(UNROLL_USAGE, "the model reads tokens, and this --format has numbers; fix: use --format %s",
                        s->network.tokens ? "text or csv" : "csv");
    unroll_status status = frames_open(&frames, stdin, format, s->columns.tokens + s->columns.numbers);
    if (status != UNROLL_OK && !stopped)
        complain(status, "%s", frames.error);
    while (status == UNROLL_OK && !stopped) {
        status = frames_next(&frames, s->frame, &more);
        if (!named && *frames.header)
            say_always("note: the first row names the columns and is skipped: %s", frames.header);
        named = *frames.header != '\0';
        if (status != UNROLL_OK)
            complain(status, "%s", frames.error);
        if (status != UNROLL_OK || !more)
            break;
        status = answer_frame(s);
    }
    frames_close(&frames);
    return stopped ? UNROLL_OK : status;
}

/* Runs a step on each frame of a sound: its features, computed as the samples arrive. */
static unroll_status stream_sound(struct streamer *s)
{
    struct frames frames = {0};
    bool more = true;
    unroll_status status = sound_steps_open(&s->sound, &frames, stdin, s->columns.numbers);
    while (status == UNROLL_OK && !stopped) {
        status = sound_steps_next(&s->sound, &frames, s->frame, &more);
        if (status != UNROLL_OK || !more)
            break;
        status = answer_frame(s);
    }
    frames_close(&frames);
    return stopped ? UNROLL_OK : status;
}

/* ---- text ---- */

enum { LONGEST_SYMBOL = 4 };

/* Returns the bytes of the UTF-8 character that begins with this byte; 0: no character begins so. */
static size_t bytes_of(int first)
{
    return first >= 0xf8 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : first < 0x80;
}

/* Reads one UTF-8 character from standard input; returns its bytes, 0 at the end. An invalid sequence ends before
 * the first wrong byte. */
static size_t read_character(char *to)
{
    int next = getchar();
    size_t count = 0, bytes = next == EOF ? 0 : bytes_of(next);
    if (next == EOF)
        return 0;
    do {
        to[count++] = (char)next;
    } while (count < bytes && ((next = getchar()) & 0xc0) == 0x80 && next != EOF);
    if (count < bytes)
        ungetc(next, stdin);
    to[count] = '\0';
    return count;
}

/* Prints a symbol as a field of a line: in quotes, with line ends as \n. */
static void print_symbol(const char *symbol)
{
    putchar('"');
    for (; *symbol; symbol++)
        if (*symbol == '\n')
            fputs("\\n", stdout);
        else if (*symbol == '"')
            fputs("\"\"", stdout);
        else
            putchar(*symbol);
    putchar('"');
}

static int likeliest_of(const struct streamer *s)
{
    int likeliest = 0;
    for (int i = 1; i < s->width; i++)
        if (s->outputs[i] > s->outputs[likeliest])
            likeliest = i;
    return likeliest;
}

/* Prints a line. Language models: "e",1.072,"n",0.4310 are the symbol, its cost in nats, the likeliest next symbol
 * and its probability. Classifiers: "e","Irish",0.4310 has the label of the text so far. Other outputs: "e",0.25,.. */
static unroll_status write_symbol(struct streamer *s, const char *symbol, double nats)
{
    const struct symbols *names = &s->symbols;
    const bool of_classes = names->predicts || names->labels == s->width;
    if (s->raw)
        return write_outputs(s);
    print_symbol(symbol);
    if (names->predicts && s->predicted)
        printf(",%.4f", nats);
    else if (names->predicts)
        putchar(',');
    putchar(',');
    if (!of_classes)
        return write_outputs(s);
    const int likeliest = likeliest_of(s);
    print_symbol(names->predicts ? names->symbol[likeliest] : names->label[likeliest]);
    printf(",%.4f\n", (double)s->outputs[likeliest]);
    return flush_answer();
}

static unroll_status refuse_character(const struct streamer *s, const char *character, int64_t number)
{
    if (*character == '\0')
        return complain(
            UNROLL_DATA,
            "character %lld is a zero byte, so the input is not text; fix: convert it to UTF-8, for example with "
            "'iconv -f UTF-16 -t UTF-8'",
            (long long)number);
    if (bytes_of((unsigned char)*character) != strlen(character))
        return complain(UNROLL_DATA,
                        "character %lld is not UTF-8: it begins with byte 0x%02x; fix: convert the text, "
                        "for example with 'iconv -f LATIN1 -t UTF-8'",
                        (long long)number, (unsigned)(unsigned char)*character);
    return complain(
        UNROLL_DATA,
        "character %lld, '%s', is not among the model's %d tokens; fix: remove or replace it, or train a model on a "
        "text that has it",
        (long long)number, character, s->symbols.count);
}

static unroll_status answer_character(struct streamer *s, const char *character, int64_t number)
{
    int32_t token = symbols_find(&s->symbols, character);
    const bool is_one = *character && bytes_of((unsigned char)*character) == strlen(character);
    if (token < 0 && *character == '\n' && !s->symbols.predicts) /* each line is a text */
        return stepper_restart(&s->stepper);
    if (token < 0 && is_one)
        token = s->symbols.unknown;
    if (token < 0 || (token == s->symbols.unknown && !is_one))
        return refuse_character(s, character, number);
    double nats = s->predicted ? -log((double)s->outputs[token]) : 0;
    TRY(answer(s, &token, NULL));
    TRY(write_symbol(s, token == s->symbols.unknown ? character : s->symbols.symbol[token], nats));
    s->predicted = s->symbols.predicts;
    return UNROLL_OK;
}

static unroll_status stream_text(struct streamer *s)
{
    unroll_status status = UNROLL_OK;
    char character[LONGEST_SYMBOL + 1];
    if (s->symbols.count == 0 || (s->symbols.schema == NULL && !s->symbols.predicts))
        return complain(UNROLL_USAGE, "the model has no text vocabulary; fix: use --format csv or f32");
    if (!s->symbols.characters)
        return complain(
            UNROLL_UNSUPPORTED,
            "a word ends only where the next begins, so words can't be streamed; fix: use --format csv with token ids");
    for (int64_t number = 1; status == UNROLL_OK && !stopped; number++) {
        if (read_character(character) == 0 || stopped)
            break;
        status = answer_character(s, character, number);
    }
    if (status == UNROLL_OK && ferror(stdin) && !stopped)
        return complain(UNROLL_DATA, "cannot read the text: %s; fix: give the input again", strerror(errno));
    return stopped ? UNROLL_OK : status;
}

/* ---- the command ---- */

static unroll_status open_stream(struct streamer *s)
{
    TRY(symbols_open(s->model, &s->symbols));
    sound_steps_find(s->model, &s->sound);
    wake_word_find(s->model, &s->wake);
    TRY(stepper_open(&s->stepper, s->model, s->settings));
    s->network.size = sizeof s->network;
    unroll_model_network(s->model, &s->network);
    s->width = s->stepper.width;
    network_columns(&s->network, &s->columns);
    const size_t widest = (size_t)s->columns.tokens + (size_t)s->columns.numbers;
    s->frame = malloc(widest * sizeof *s->frame);
    s->numbers = malloc(widest * sizeof *s->numbers);
    s->outputs = malloc((size_t)s->width * sizeof *s->outputs);
    if (s->frame && s->numbers && s->outputs)
        return UNROLL_OK;
    return complain(UNROLL_RESOURCE, "no memory for the frames of the model");
}

/* Writes a sound: of an effect, unless other outputs are given. */
static unroll_status stream_effect(struct streamer *s)
{
    const char *format = text_of(s->settings, OPTION_FORMAT);
    if (format && strcmp(format, "wav") != 0)
        return complain(UNROLL_USAGE, "--write wav reads a sound; fix: use --format wav, or --write csv");
    listen_to_signals();
    if (isatty(STDOUT_FILENO))
        return complain(UNROLL_USAGE, "the terminal does not play sounds; fix: write to a file or a player, such as "
                                      "'| aplay', or --write csv");
    const unroll_status status = sound_effect_run(s->model, s->settings, stdin, stdout, true, &stopped);
    return stopped ? UNROLL_OK : status;
}

static bool writes_sound(const struct streamer *s)
{
    const char *format = text_of(s->settings, OPTION_FORMAT);
    if (s->settings->of[OPTION_WRITE].source > SOURCE_DEFAULT)
        return strcmp(text_of(s->settings, OPTION_WRITE), "wav") == 0;
    return is_effect(s->model) && (format == NULL || strcmp(format, "wav") == 0);
}

static unroll_status run_streamer(struct streamer *s)
{
    const char *format = text_of(s->settings, OPTION_FORMAT);
    bool of_text = s->symbols.count && s->symbols.characters;
    const char *write = text_of(s->settings, OPTION_WRITE);
    s->raw = strcmp(write, "f32") == 0;
    if (strcmp(write, "labels") == 0)
        return complain(UNROLL_USAGE, "--write labels is for predict; fix: use --write csv, or f32");
    if (format == NULL)
        format = of_text ? "text" : *s->sound.features ? "wav" : "csv";
    listen_to_signals();
    if (strcmp(format, "text") == 0)
        return stream_text(s);
    if (strcmp(format, "wav") == 0 && *s->sound.features)
        return stream_sound(s);
    return stream_frames(s, strcmp(format, "csv") == 0   ? FRAMES_CSV
                            : strcmp(format, "wav") == 0 ? FRAMES_WAV
                            : strcmp(format, "npy") == 0 ? FRAMES_NPY
                                                         : FRAMES_F32);
}

static unroll_status run_steps(struct streamer *s)
{
    TRY(network_in_units(s->settings, &s->model));
    TRY(open_stream(s));
    return run_streamer(s);
}

unroll_status cmd_stream(struct settings *settings)
{
    struct streamer s = {.settings = settings};
    TRY(network_open(settings, &s.model));
    unroll_status status = writes_sound(&s) ? stream_effect(&s) : run_steps(&s);
    free(s.outputs);
    free(s.numbers);
    free(s.frame);
    symbols_close(&s.symbols);
    sound_steps_close(&s.sound);
    stepper_close(&s.stepper);
    unroll_model_free(s.model);
    return status;
}
