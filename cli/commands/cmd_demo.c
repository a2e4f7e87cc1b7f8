/* unroll demo: trains a forecast on a series inside the program, predicts and draws it, by the commands that a user
 * types. It needs no network and no file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands/commands.h"
#include "cli/options/options.h"
#include "cli/show/console.h"

static const char *const co2[] = {
#include "co2.inc"
    NULL};

enum { WORDS_MAX = 16 };

static unroll_status write_series(const char *path)
{
    FILE *file = fopen(path, "w");
    for (int i = 0; file && co2[i]; i++) fprintf(file, "%s\n", co2[i]);
    const bool failed = !file || ferror(file);
    if ((file && fclose(file) != 0) || failed)
        return complain(UNROLL_RESOURCE, "cannot write '%s': %s; fix: use --out FOLDER that can be written", path,
                        strerror(errno));
    return UNROLL_OK;
}

/* Prints a command as a user types it, and runs it. words[0] is the command; NULL ends them. */
static unroll_status show(enum command command, const char *const *words)
{
    char *copy[WORDS_MAX] = {0};
    int count = 0;
    printf("\n$ unroll");
    for (; words[count]; count++) {
        printf(" %s", words[count]);
        copy[count] = (char *)words[count];
    }
    printf("\n");
    fflush(stdout);
    return command_run(command, count - 1, copy + 1);
}

unroll_status cmd_demo(struct settings *settings)
{
    const char *folder = is_given(settings, OPTION_OUT) ? text_of(settings, OPTION_OUT) : "unroll-demo";
    char data[PATH_MAX], run[PATH_MAX], picture[PATH_MAX], limit[32];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return complain(UNROLL_RESOURCE, "cannot make the folder '%s': %s; fix: use --out FOLDER that can be written",
                        folder, strerror(errno));
    snprintf(data, sizeof data, "%s/co2.csv", folder);
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(picture, sizeof picture, "%s/forecast.svg", folder);
    snprintf(limit, sizeof limit, "%gs", is_given(settings, OPTION_FOR) ? number_of(settings, OPTION_FOR) : 5);
    TRY(write_series(data));
    printf(
        "CO2 over Mauna Loa, month by month since 1958: what will the next year be? The last 5 years are the test.\n");
    TRY(show(COMMAND_TRAIN, (const char *[]){"train", data, "--horizon", "12", "--test", "60", "--for", limit, "--out",
                                             run, "--overwrite", NULL}));
    TRY(show(COMMAND_PREDICT, (const char *[]){"predict", run, data, NULL}));
    TRY(show(COMMAND_PLOT, (const char *[]){"plot", run, "--what", "answers", NULL}));
    TRY(show(COMMAND_PLOT, (const char *[]){"plot", run, "--what", "answers", "-o", picture, NULL}));
    printf("\nNow with your data: unroll train FILE (unroll inspect FILE prints how it will be read)\n");
    return UNROLL_OK;
}
