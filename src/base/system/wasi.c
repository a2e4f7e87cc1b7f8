/* The functions of wasi.h. */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse_call(void)
{
    errno = ENOSYS;
    return -1;
}

/* ---- signals ---- */

int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
    (void)number, (void)wanted;
    if (before)
        *before = (struct sigaction){.sa_handler = SIG_DFL};
    return 0;
}

int sigfillset(sigset_t *set)
{
    memset(set, 0xff, sizeof *set);
    return 0;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    (void)how, (void)set;
    if (before)
        memset(before, 0, sizeof *before);
    return 0;
}

int kill(pid_t process, int number) { return (void)process, (void)number, refuse_call(); }
unsigned alarm(unsigned seconds) { return (void)seconds, 0; }
int pause(void) { return refuse_call(); }

/* ---- processes ---- */

uid_t getuid(void) { return 0; }
uid_t geteuid(void) { return 0; }
pid_t getppid(void) { return 0; }
pid_t fork(void) { return refuse_call(); }
pid_t setsid(void) { return refuse_call(); }
int prctl(int what, ...) { return (void)what, refuse_call(); }
long syscall(long number, ...) { return (void)number, refuse_call(); }

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return (void)prepare, (void)parent, (void)child, 0; /* no fork succeeds */
}

int gethostname(char *name, size_t size)
{
    snprintf(name, size, "wasm");
    return 0;
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
    (void)process, (void)size;
    set->count = 1;
    return 0;
}

/* ---- files ---- */

int dup(int descriptor) { return (void)descriptor, refuse_call(); }
int dup2(int descriptor, int number) { return (void)descriptor, (void)number, refuse_call(); }
int pipe(int ends[2]) { return (void)ends, refuse_call(); }
int flock(int descriptor, int how) { return (void)descriptor, (void)how, 0; } /* no other process */
int madvise(void *memory, size_t bytes, int advice) { return (void)memory, (void)bytes, (void)advice, refuse_call(); }
int mkstemp(char *path) { return (void)path, refuse_call(); }

/* ---- libraries ---- */

void *dlopen(const char *path, int how) { return (void)path, (void)how, NULL; }
void *dlsym(void *library, const char *name) { return (void)library, (void)name, NULL; }
int dlclose(void *library) { return (void)library, refuse_call(); }
int dlinfo(void *library, int what, void *to) { return (void)library, (void)what, (void)to, refuse_call(); }
char *dlerror(void) { return (char *)"WebAssembly loads no libraries"; }

/* ---- sockets ---- */

int socket(int domain, int type, int protocol) { return (void)domain, (void)type, (void)protocol, refuse_call(); }

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found)
{
    return (void)host, (void)port, (void)hints, (void)found, EAI_SYSTEM;
}

void freeaddrinfo(struct addrinfo *found) { (void)found; }
const char *gai_strerror(int error) { return (void)error, "WebAssembly has no network"; }

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    return (void)files, (void)count, (void)limit, (void)mask, refuse_call();
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    return (void)domain, (void)type, (void)protocol, (void)ends, refuse_call();
}

int connect(int descriptor, const struct sockaddr *address, unsigned size)
{
    return (void)descriptor, (void)address, (void)size, refuse_call();
}

int setsockopt(int descriptor, int level, int option, const void *value, unsigned size)
{
    return (void)descriptor, (void)level, (void)option, (void)value, (void)size, refuse_call();
}
