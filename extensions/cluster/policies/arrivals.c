/* Lines "STEP WORD OTHER THEIRS". Errors in the file are reported at their line. */
#include "extensions/cluster/policies/arrivals.h"
#include "base/number.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"sent", "came", "jump", "answer"};

unroll_status arrivals_open(struct arrivals *a, const char *path, int rank, bool replays)
{
    char name[4096];
    *a = (struct arrivals){.replays = replays};
    if (!path)
        return UNROLL_OK;
    if (snprintf(name, sizeof name, "%s.%d", path, rank) >= (int)sizeof name)
        return fail(UNROLL_USAGE, "the path of arrivals is longer than %zu bytes; fix: use a shorter one", sizeof name);
    a->file = fopen(name, replays ? "re" : "we");
    if (a->file)
        setvbuf(a->file, NULL, _IOLBF, BUFSIZ); /* write errors are detected at their line */
    return a->file ? UNROLL_OK
                   : fail(UNROLL_DATA, "'%s': %s; fix: use a path that can be %s", name, strerror(errno),
                          replays ? "read: a run wrote it with as many workers" : "written");
}

void arrivals_close(struct arrivals *a)
{
    if (a->file)
        fclose(a->file);
    *a = (struct arrivals){.file = NULL};
}

unroll_status arrivals_note(struct arrivals *a, const struct arrival *n)
{
    if (!a->file || a->replays)
        return UNROLL_OK;
    int written =
        fprintf(a->file, "%lld %s %d %lld\n", (long long)n->step, words[n->kind], n->other, (long long)n->theirs);
    return written > 0 ? UNROLL_OK
                       : fail(UNROLL_DATA, "arrivals can't be written: %s; fix: free space", strerror(errno));
}

bool arrival_read(const char *line, struct arrival *n)
{
    int64_t other;
    size_t word;
    if (number_integer(&line, NULL, 0, INT64_MAX, &n->step) != NUMBER_OK || *line++ != ' ')
        return false;
    word = strcspn(line, " ");
    for (n->kind = 0; n->kind < ARRIVAL_KINDS; n->kind++)
        if (strlen(words[n->kind]) == word && !memcmp(words[n->kind], line, word))
            break;
    line += word;
    if (n->kind == ARRIVAL_KINDS || *line++ != ' ' || number_integer(&line, NULL, 0, INT32_MAX, &other) != NUMBER_OK ||
        *line++ != ' ' || number_integer(&line, NULL, 0, INT64_MAX, &n->theirs) != NUMBER_OK)
        return false;
    n->other = (int)other;
    return *line == '\n' && line[1] == '\0';
}

bool arrivals_look(struct arrivals *a, int64_t step, struct arrival *n, unroll_status *status)
{
    char line[128];
    *status = UNROLL_OK;
    if (!a->has_next) {
        if (!fgets(line, sizeof line, a->file))
            return false;
        if (!arrival_read(line, &a->next)) {
            *status = fail(UNROLL_DATA, "arrivals: '%.60s' is none; fix: use the file that a run wrote", line);
            return false;
        }
        a->has_next = true;
    }
    if (a->next.step > step)
        return false;
    *n = a->next;
    return true;
}

bool arrivals_take(struct arrivals *a, int64_t step, struct arrival *n, unroll_status *status)
{
    const bool has = arrivals_look(a, step, n, status);
    a->has_next &= !has;
    return has;
}
