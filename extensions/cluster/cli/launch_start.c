/* mpirun is killed instead of asked to end: if asked, it gives its ranks seconds, and may hang itself. Its ranks and
 * their guards then become children of this process (PR_SET_CHILD_SUBREAPER). Their process ids cannot be reused
 * before they are waited for, so even stopped ones are safely killed by id. Ranks on other hosts end by a message
 * from the launcher, and with their MPI connections. */
#include "extensions/cluster/cli/launch_start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/run/member.h"
#include "cli/show/output.h"
#include "cli/show/stopwatch.h"

enum { WORDS = 32, LIST = HOSTS_MAX * (HOST_NAME + 6) };

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    remove(path);
    return 0;
}

static void remove_folder(const char *folder) { nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static const char prefix[] = "unroll-launch.";

/* Removes folders of killed launchers: their locks are free. */
static void sweep_strangers(const char *parent)
{
    DIR *entries = NULL;
    const char *name;
    char path[PATH_MAX];
    while ((name = next_name(parent, &entries))) {
        if (strncmp(name, prefix, sizeof prefix - 1) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", parent, name);
        int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0)
            remove_folder(path);
        if (folder >= 0)
            close(folder);
    }
}

/* Makes a folder, locked for the life of this process; path is empty on failure. */
static void make_folder(const char *parent, char path[64])
{
    sweep_strangers(parent);
    snprintf(path, 64, "%s/%sXXXXXX", parent, prefix);
    int folder = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0)
        flock(folder, LOCK_EX | LOCK_NB);
    else
        *path = '\0';
}

unroll_status start_open(struct launch_start *start)
{
    const char *temporary = getenv("TMPDIR");
    make_folder(temporary && strlen(temporary) < 40 ? temporary : "/tmp", start->folder);
    make_folder("/dev/shm", start->memory); /* empty: MPI's default place */
    if (*start->folder == '\0')
        return complain(UNROLL_RESOURCE, "cannot make a folder in %s: %s; fix: TMPDIR=FOLDER",
                        temporary ? temporary : "/tmp", strerror(errno));
    setenv("TMPDIR", start->folder, 1); /* for mpirun */
    if (*start->memory)                 /* a rank killed before UCX has unlinked its segment leaves it in our folder */
        setenv("UCX_POSIX_DIR", start->memory, 0);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return complain(UNROLL_UNSUPPORTED,
                        "this kernel can't tell which processes are whose: %s; fix: use a newer kernel",
                        strerror(errno));
    return UNROLL_OK;
}

/* ---- starting ---- */

/* Returns "node1:4,node2:2" for the hosts with ranks; empty: this machine. */
static const char *list_hosts(const struct launch_hosts *hosts)
{
    static char list[LIST];
    size_t used = 0;
    *list = '\0';
    for (int i = 0; hosts->path && i < hosts->count; i++)
        if (hosts->of[i].ranks > 0)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s:%d", used ? "," : "", hosts->of[i].name,
                                     hosts->of[i].ranks);
    return list;
}

static int add(char **words, int count, const char *first, const char *second)
{
    words[count++] = (char *)first;
    if (second)
        words[count++] = (char *)second;
    return count;
}

static int openmpi_words(const char *memory, const char *list, char **words)
{
    int count = add(words, 0, "--map-by", "slot:OVERSUBSCRIBE");
    count = add(words, count, "-x", MEMBER_VARIABLE);
    if (*memory) {
        words[count++] = "--mca";
        count = add(words, count, "btl_vader_backing_directory", memory);
    }
    return *list ? add(words, count, "--host", list) : count;
}

static int mpich_words(const char *memory, const char *list, char **words)
{
    (void)memory;
    return *list ? add(words, 0, "-hosts", list) : 0;
}

/* The launch programs of MPI libraries, under the names that distinguish them if several are installed. */
static const struct launcher {
    const char *name, *program;
    int (*words)(const char *memory, const char *list,
                 char **words); /* memory: a folder for shared memory; empty: MPI's default */
} launchers[] = {{"openmpi", "mpirun.openmpi", openmpi_words}, {"mpich", "mpirun.mpich", mpich_words}};

static const struct launcher *find_launcher(void)
{
    const char *wish = getenv("UNROLL_MPI");
    for (size_t i = 0; wish && i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(wish, launchers[i].name) == 0)
            return &launchers[i];
    return &launchers[0];
}

/* Uses a separate process group, so that Ctrl-C reaches only the launcher. */
static void become_own(void)
{
    sigset_t none;
    int input = open("/dev/null", O_RDONLY);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    dup2(input, STDIN_FILENO);
}

static void become_mpirun(const struct launcher *launcher, char **words)
{
    become_own();
    execvp(words[0] = (char *)launcher->program, words);
    execvp(words[0] = "mpirun", words);
    _exit(127);
}

unroll_status start_ranks(struct launch_start *start, const struct launch_hosts *hosts, int ranks, char *const words[])
{
    static char *all[WORDS + 512];
    const struct launcher *launcher = find_launcher();
    char number[16];
    int count = 1, most = (int)(sizeof all / sizeof *all);
    snprintf(number, sizeof number, "%d", ranks);
    count = add(all, count, "-n", number);
    count += launcher->words(hosts_are_here(hosts) ? start->memory : "", list_hosts(hosts), all + count);
    for (int i = 0; words[i] && count < most - 1; i++) all[count++] = words[i];
    all[count] = NULL;
    start->mpirun = fork();
    if (start->mpirun == 0)
        become_mpirun(launcher, all);
    if (start->mpirun > 0)
        return UNROLL_OK;
    start->mpirun = 0;
    return complain(
        UNROLL_RESOURCE,
        "cannot start a process: %s; fix: end other processes, or raise the limits of this one (ulimit -n, -u)",
        strerror(errno));
}

pid_t start_process(char *const words[], int place)
{
    char number[16];
    pid_t process = fork();
    if (process != 0)
        return process;
    snprintf(number, sizeof number, "%d", place);
    become_own();
    setenv(MEMBER_PLACE, number, 1);
    execv(words[0], words);
    _exit(127);
}

bool start_has_ended(struct launch_start *start)
{
    if (start->mpirun > 0 && waitpid(start->mpirun, &start->status, WNOHANG) == start->mpirun)
        start->mpirun = 0;
    return start->mpirun == 0;
}

void start_kill(const struct launch_start *start)
{
    if (start->mpirun > 0)
        kill(start->mpirun, SIGKILL);
}

/* ---- sweeping ---- */

static pid_t parent_of(const char *process)
{
    char path[64], text[512];
    int64_t parent;
    snprintf(path, sizeof path, "/proc/%.20s/stat", process);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    const char *at = strrchr(text, ')'); /* ") S 123 ..": state and parent */
    at = at && strlen(at) > 4 ? at + 4 : "";
    return number_integer(&at, NULL, 1, INT32_MAX, &parent) == NUMBER_OK ? (pid_t)parent : 0;
}

static void kill_children(void)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    int64_t number;
    while (processes && (entry = readdir(processes)))
        if (number_whole_integer(entry->d_name, 1, INT32_MAX, &number) == NUMBER_OK &&
            parent_of(entry->d_name) == getpid())
            kill((pid_t)number, SIGKILL);
    if (processes)
        closedir(processes);
}

static void empty(const char *folder)
{
    DIR *entries = NULL;
    const char *name;
    char path[PATH_MAX];
    while (*folder && (name = next_name(folder, &entries))) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            remove_folder(path);
    }
}

void start_sweep(struct launch_start *start)
{
    const double begin = seconds_now(), most = 5;
    pid_t ended = 0;
    while (ended >= 0 && seconds_now() - begin < most) {
        kill_children();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) continue;
    }
    start->mpirun = 0;
    empty(start->folder);
    empty(start->memory);
}

void start_close(struct launch_start *start)
{
    start_sweep(start);
    rmdir(start->folder);
    if (*start->memory)
        rmdir(start->memory);
}
