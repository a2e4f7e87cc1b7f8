/* What Linux has and WASI has not, for the WebAssembly build (make wasm): the compiler includes this file before every
 * source. wasi.c defines the functions. They fail like the calls of a system that refuses them, with ENOSYS, except
 * where a program with one thread and without signals needs nothing: masks of signals, handlers, processor sets. */
#ifndef BASE_WASI_H
#define BASE_WASI_H
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- clocks: with a single thread, its time is the time ---- */
#define CLOCK_THREAD_CPUTIME_ID CLOCK_MONOTONIC
#define CLOCK_BOOTTIME          CLOCK_MONOTONIC

/* ---- signals: none arrives ---- */
enum { SIG_SETMASK = 2, SA_RESTART = 1 };
struct sigaction {
    void (*sa_handler)(int number);
    int sa_flags;
};
int sigaction(int number, const struct sigaction *wanted, struct sigaction *before);
int sigfillset(sigset_t *set);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int kill(pid_t process, int number);
unsigned alarm(unsigned seconds);
int pause(void);

/* ---- processes: this one alone ---- */
uid_t getuid(void);
uid_t geteuid(void);
pid_t getppid(void);
pid_t fork(void);
pid_t setsid(void);
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int gethostname(char *name, size_t size);
int prctl(int what, ...);
enum { PR_SET_NAME = 15, SYS_pidfd_open = 434 };
long syscall(long number, ...);

/* ---- processors ---- */
typedef struct {
    int count;
} cpu_set_t;
#define CPU_COUNT(set) ((set)->count)
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set);

/* ---- files: no descriptor can be copied, no folder for temporary files ---- */
enum { F_DUPFD_CLOEXEC = 1030 };
int dup(int descriptor);
int dup2(int descriptor, int number);
int pipe(int ends[2]);
int mkstemp(char *path);
struct winsize {
    unsigned short ws_row, ws_col;
};
enum { TIOCGWINSZ = 0x5413 };

/* ---- libraries: none can be loaded ---- */
enum { RTLD_DI_LINKMAP = 2 };
int dlinfo(void *library, int what, void *to);

/* ---- sockets ---- */
enum { MSG_NOSIGNAL = 0x4000, SOCK_SEQPACKET = 5 };
struct sockaddr;
int socket(int domain, int type, int protocol);
int socketpair(int domain, int type, int protocol, int ends[2]);
int connect(int descriptor, const struct sockaddr *address, unsigned size);
int setsockopt(int descriptor, int level, int option, const void *value, unsigned size);

#endif
