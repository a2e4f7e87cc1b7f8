/* A hosts file has Open MPI's format: one host per line, NAME slots=N; # begins a comment. */
#include "extensions/cluster/cli/launch_hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/console.h"

static unroll_status read_line(struct launch_hosts *hosts, char *line, int number)
{
    struct launch_host host = {.slots = 1};
    if (!host_read(line, RANKS_MAX, host.name, &host.slots))
        return complain(UNROLL_DATA,
                        "--hosts: line %d of '%s' is not NAME slots=N; fix: write for example: node1 slots=4", number,
                        hosts->path);
    if (*host.name && hosts->count == HOSTS_MAX)
        return complain(UNROLL_UNSUPPORTED, "--hosts: '%s' has more than %d hosts; fix: use fewer hosts", hosts->path,
                        HOSTS_MAX);
    if (*host.name)
        hosts->of[hosts->count++] = host;
    return UNROLL_OK;
}

enum { LINES_MAX = 100000 };

/* Reads the host file. */
static unroll_status read_file(struct launch_hosts *hosts)
{
    char line[512];
    unroll_status status = UNROLL_OK;
    FILE *file = fopen(hosts->path, "re");
    if (file == NULL || fstat(fileno(file), &hosts->seen) != 0)
        status = complain(UNROLL_DATA, "--hosts: cannot read '%s': %s; fix: name a file of hosts", hosts->path,
                          strerror(errno));
    for (int number = 1; status == UNROLL_OK && fgets(line, sizeof line, file); number++)
        status = number <= LINES_MAX
                     ? read_line(hosts, line, number)
                     : complain(UNROLL_DATA, "--hosts: '%s' has more than %d lines; fix: name a file of hosts",
                                hosts->path, LINES_MAX);
    if (file)
        fclose(file);
    if (status == UNROLL_OK && hosts->count == 0)
        status =
            complain(UNROLL_DATA, "--hosts: '%s' names no host; fix: write one a line: node1 slots=4", hosts->path);
    return status;
}

unroll_status hosts_open(struct launch_hosts *hosts, const char *path, int slots)
{
    hosts->path = path;
    hosts->count = 0;
    if (path)
        return read_file(hosts);
    hosts->count = 1;
    hosts->of[0] = (struct launch_host){.slots = slots};
    return UNROLL_OK;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool hosts_look(struct launch_hosts *hosts)
{
    static struct launch_hosts now;
    struct stat found;
    if (hosts->path == NULL || stat(hosts->path, &found) != 0 || is_same(&found, &hosts->seen))
        return false;
    now = (struct launch_hosts){.path = hosts->path};
    hosts->seen = found;
    if (read_file(&now) != UNROLL_OK)
        return false;
    *hosts = now;
    return true;
}

void hosts_restore(struct launch_hosts *hosts)
{
    for (int i = 0; i < hosts->count; i++) hosts->of[i].lost = hosts->of[i].dead = 0;
}

static int room_of(const struct launch_host *host)
{
    return host->dead || host->lost >= host->slots ? 0 : host->slots - host->lost;
}

int hosts_ranks(const struct launch_hosts *hosts, int min, int max, int unit)
{
    int room = 0, living = 0;
    for (int i = 0; i < hosts->count; i++) {
        room += room_of(&hosts->of[i]);
        living += !hosts->of[i].dead;
    }
    int ranks = room < max ? room : max;
    ranks = ranks < min ? min : ranks;
    return living == 0 ? 0 : ranks - ranks % unit;
}

void hosts_place(struct launch_hosts *hosts, int ranks)
{
    for (int i = 0; i < hosts->count; i++) {
        int room = room_of(&hosts->of[i]);
        hosts->of[i].ranks = room < ranks ? room : ranks;
        ranks -= hosts->of[i].ranks;
    }
    for (int i = 0; ranks > 0; i = (i + 1) % hosts->count)
        if (!hosts->of[i].dead) {
            hosts->of[i].ranks++;
            ranks--;
        }
}

bool hosts_are_here(const struct launch_hosts *hosts)
{
    char own[HOST_NAME] = "";
    bool here = true;
    gethostname(own, sizeof own - 1);
    for (int i = 0; hosts->path && i < hosts->count; i++) {
        const char *name = hosts->of[i].name;
        here = here && (strcmp(name, "localhost") == 0 || strcmp(name, own) == 0);
    }
    return here;
}

struct launch_host *hosts_of(struct launch_hosts *hosts, int rank)
{
    int i = 0;
    for (; i < hosts->count - 1 && rank >= hosts->of[i].ranks; i++) rank -= hosts->of[i].ranks;
    return &hosts->of[i];
}
