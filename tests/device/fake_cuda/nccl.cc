/* The fake NCCL: ranks, which are processes, exchange files in a directory named by the group's id. An operation is
 * work on a stream of the fake driver that waits for its peers. It is strict: a message waits for its receiver, and an
 * operation whose kind, type or count differs between ranks ends the process with a message. Environment variables:
 * FAKE_CUDA_NCCL_VERSION (22703), FAKE_CUDA_NCCL_STALLS=N (the Nth operation of a process never ends),
 * FAKE_CUDA_NCCL_LOSES=N (the same, with a network error). */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include "fake_driver.h" /* last: its `fail` is also a name in <fstream> */

#define DECLARE(name, suffix, arguments) EXPORT int name arguments;
NCCL_FUNCTIONS(DECLARE)
#undef DECLARE
#define ENTRY(name, suffix, arguments) (const void *)name,
extern const void *const fake_nccl_functions[];
const void *const fake_nccl_functions[] = {NCCL_FUNCTIONS(ENTRY)}; /* all functions are present */

struct nccl_comm_st {
    std::string folder;
    int rank, ranks, error, polls;
    bool joined, aborted, stalls, captured;
    uint64_t sums, messages[2]; /* number of collectives, and of messages to and from the peer, so far */
    bool busy;                  /* an operation is in progress */
};
static std::string last_error;

#define WRONG(...) return fake_misuse(NCCL_INVALID_ARGUMENT, __func__, __VA_ARGS__)

EXPORT const char *ncclGetErrorString(int error);
EXPORT const char *ncclGetLastError(nccl_comm);
const char *ncclGetErrorString(int error)
{
    return error == NCCL_REMOTE_ERROR    ? "remote process exited or there was a network error"
           : error == NCCL_INVALID_USAGE ? "invalid usage"
           : error                       ? "an error of the fake NCCL"
                                         : "no error";
}
const char *ncclGetLastError(nccl_comm) { return last_error.c_str(); }

int ncclGetVersion(int *version)
{
    *version = (int)fake_setting("NCCL_VERSION", 22703);
    return NCCL_OK;
}

/* ---- files -------------------------------------------------------------------------------- */

static bool exists(const std::string &path)
{
    struct stat s;
    return stat(path.c_str(), &s) == 0;
}

static std::string read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/* Writes atomically, so that no part of a file is visible. */
static void write_file(const std::string &path, const std::string &text)
{
    std::string part = path + ".part";
    std::ofstream(part, std::ios::binary) << text;
    rename(part.c_str(), path.c_str());
}

/* ---- communicators ------------------------------------------------------------------------ */

int ncclGetUniqueId(struct nccl_id *id)
{
    const char *folder = getenv("TMPDIR");
    snprintf(id->bytes, sizeof id->bytes, "%s/fake_nccl.XXXXXX", folder ? folder : "/tmp");
    return mkdtemp(id->bytes) ? NCCL_OK : NCCL_SYSTEM_ERROR;
}

static std::string place_of(nccl_comm c, const char *what, int rank)
{
    return c->folder + "/" + what + "." + std::to_string(rank);
}

static std::string gpu_of_this(void)
{
    char host[256] = "";
    const char *named = getenv("NCCL_HOSTID");
    gethostname(host, sizeof host - 1);
    return std::string(named ? named : host) + " " + std::to_string(fake_current_device());
}

int ncclCommInitRankConfig(nccl_comm *comm, int ranks, struct nccl_id id, int rank, struct nccl_config *config)
{
    if (!config || config->magic != NCCL_CONFIG_MAGIC || config->bytes != sizeof *config ||
        config->version != NCCL_CONFIG_VERSION || config->blocking != 0)
        WRONG("a configuration that is none, or that blocks");
    if (rank < 0 || rank >= ranks || fake_current_device() < 0 || !exists(id.bytes))
        WRONG("rank %d of %d, id '%.100s'", rank, ranks, id.bytes);
    *comm = new nccl_comm_st{id.bytes, rank, ranks, NCCL_IN_PROGRESS, 0, false, false, false, false, 0, {0, 0}, false};
    write_file(place_of(*comm, "gpu", rank), gpu_of_this());
    fake_count("communicators of NCCL not destroyed", 1);
    return NCCL_IN_PROGRESS;
}

static void look_for_others(nccl_comm c)
{
    std::vector<std::string> gpu;
    for (int i = 0; i < c->ranks; i++) {
        if (!exists(place_of(c, "gpu", i)))
            return;
        gpu.push_back(read_file(place_of(c, "gpu", i)));
    }
    c->joined = true;
    c->error = NCCL_OK;
    for (int i = 0; i < c->ranks; i++)
        for (int k = 0; k < i; k++)
            if (gpu[(size_t)i] == gpu[(size_t)k]) {
                last_error = "Duplicate GPU detected : rank " + std::to_string(k) + " and rank " + std::to_string(i);
                c->error = NCCL_INVALID_USAGE;
            }
}

int ncclCommGetAsyncError(nccl_comm c, int *error)
{
    enum { POLLS = 2 }; /* polls during which a call stays in the background */
    if (!c)
        WRONG("no communicator");
    if (!c->joined)
        look_for_others(c);
    else if (c->error == NCCL_IN_PROGRESS && ++c->polls > POLLS)
        c->error = NCCL_OK;
    *error = c->error;
    return NCCL_OK;
}

int ncclCommFinalize(nccl_comm c)
{
    if (!c || c->busy)
        WRONG("a communicator that has things to do");
    c->polls = 0;
    return c->error = NCCL_IN_PROGRESS;
}

/* The last rank to leave removes the folder. */
static int leave(nccl_comm c)
{
    bool last = true;
    write_file(place_of(c, "left", c->rank), "");
    for (int i = 0; i < c->ranks; i++) last &= exists(place_of(c, "left", i));
    if (DIR *folder = last ? opendir(c->folder.c_str()) : NULL) {
        while (struct dirent *entry = readdir(folder)) unlink((c->folder + "/" + entry->d_name).c_str());
        closedir(folder);
        rmdir(c->folder.c_str());
    }
    fake_count("communicators of NCCL not destroyed", -1);
    return NCCL_OK;
}

int ncclCommDestroy(nccl_comm c)
{
    if (!c || c->error)
        WRONG("a communicator that was not finalized");
    int result = leave(c);
    delete c;
    return result;
}

/* Ends the communicator's pending operations without effect. It is not freed, because they still refer to it, as do
 * graphs with its operations; a real NCCL would wait for these forever. */
int ncclCommAbort(nccl_comm c)
{
    if (!c)
        WRONG("no communicator");
    if (c->captured && fake_counted("executables of graphs not destroyed") > 0)
        WRONG("aborted while a graph lives that holds its operations");
    c->aborted = true;
    return leave(c);
}

/* ---- operations --------------------------------------------------------------------------- */

/* Arguments of a rank for an operation. */
struct wish {
    const char *kind;
    nccl_comm comm;
    const char *from;
    char *to;
    uint64_t count;
    int type;
    std::string mine;               /* its file, after it has begun */
    std::vector<std::string> files; /* the files of all ranks of a collective */
    std::string words(void) const
    {
        return std::string(kind) + " " + std::to_string(count) + " " + std::to_string(type);
    }
    uint64_t bytes(void) const { return count * (type == NCCL_FLOAT64 ? 8 : 4); }
};

static void begin_alone(struct wish &w)
{
    static long operations;
    const bool loses = ++operations == fake_setting("NCCL_LOSES", 0);
    w.comm->stalls = loses || operations == fake_setting("NCCL_STALLS", 0);
    if (loses)
        w.comm->error = NCCL_REMOTE_ERROR;
    if (w.comm->busy)
        fake_misuse(NCCL_INVALID_USAGE, w.kind, "begins while another operation of the communicator is under way");
    w.comm->busy = true;
}

static std::string numbers_of(const struct wish &w) { return w.words() + "\n" + std::string(w.from, w.bytes()); }

/* Finds the values in a file. Returns an error if the file is of another operation. */
static const char *numbers_in(const struct wish &w, const std::string &file, const char **numbers)
{
    static std::string text;
    size_t end = file.find('\n');
    *numbers = file.data() + end + 1;
    if (file.substr(0, end) == w.words())
        return NULL;
    text = "'" + w.words() + "' (kind, count, type) meets '" + file.substr(0, end) + "' of another rank";
    return text.c_str();
}

static std::string file_of_sum(const struct wish &w, uint64_t number, int rank)
{
    return w.comm->folder + "/sum." + std::to_string(number) + "." + std::to_string(rank);
}

static bool all_are_here(struct wish &w)
{
    if (w.comm->aborted)
        return true;
    if (w.mine.empty()) {
        begin_alone(w);
        uint64_t number = w.comm->sums++;
        for (int i = 0; i < w.comm->ranks; i++) w.files.push_back(file_of_sum(w, number, i));
        w.mine = w.files[(size_t)w.comm->rank];
        write_file(w.mine, numbers_of(w));
        if (number > 0) /* ranks that have arrived have read the previous one */
            w.files.push_back(file_of_sum(w, number - 1, w.comm->rank));
    }
    for (int i = 0; i < w.comm->ranks; i++)
        if (!exists(w.files[(size_t)i]))
            return false;
    return !w.comm->stalls;
}

template <typename real> static void add_numbers(char *to, const char *from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) ((real *)to)[i] += ((const real *)from)[i];
}

/* Gathers or adds the numbers of all ranks into w.to; returns an error message or NULL. */
static const char *do_collective(struct wish w)
{
    const char *numbers, *wrong = NULL;
    if (w.comm->aborted)
        return NULL;
    bool gathers = w.kind[0] == 'g';
    for (int i = 0; i < w.comm->ranks && !wrong; i++) {
        std::string file = read_file(w.files[(size_t)i]);
        wrong = numbers_in(w, file, &numbers);
        if (wrong)
            return wrong;
        if (gathers || i == 0)
            memcpy(w.to + (gathers ? (uint64_t)i * w.bytes() : 0), numbers, w.bytes());
        else if (w.type == NCCL_FLOAT64)
            add_numbers<double>(w.to, numbers, w.count);
        else
            add_numbers<float>(w.to, numbers, w.count);
    }
    if (w.files.size() > (size_t)w.comm->ranks)
        unlink(w.files.back().c_str());
    w.comm->busy = false;
    return NULL;
}

/* True if the peer has arrived. The receiver removes the sender's file, which the sender waits for. */
static bool peer_is_here(struct wish &w)
{
    bool sends = w.kind[0] == 's';
    if (w.comm->aborted)
        return true;
    if (w.mine.empty()) {
        begin_alone(w);
        int from = sends ? w.comm->rank : 1 - w.comm->rank;
        w.mine = w.comm->folder + "/message." + std::to_string(from) + "." + std::to_string(w.comm->messages[sends]++);
        if (sends)
            write_file(w.mine, "message " + std::to_string(w.count) + " " + std::to_string(w.type) + "\n" +
                                   std::string(w.from, w.bytes()));
    }
    return sends ? !exists(w.mine) : exists(w.mine);
}

static const char *do_message(struct wish w)
{
    const char *numbers;
    if (w.comm->aborted)
        return NULL;
    if (w.kind[0] == 'r') {
        std::string file = read_file(w.mine);
        struct wish expected = w;
        expected.kind = "message";
        const char *wrong = numbers_in(expected, file, &numbers);
        if (wrong)
            return wrong;
        memcpy(w.to, numbers, w.bytes());
        unlink(w.mine.c_str());
    }
    w.comm->busy = false;
    return NULL;
}

/* Checks an operation and enqueues it; it runs when the peer, or all ranks, have submitted theirs. */
static int submit(const char *function, struct wish w, cu_stream stream)
{
    const char *wrong = NULL;
    if (!w.comm || !w.comm->joined || w.comm->error || w.comm->aborted)
        return fake_misuse(NCCL_INVALID_USAGE, function, "a communicator that is not ready");
    if (w.from)
        wrong = fake_check_device((uint64_t)w.from, w.bytes());
    if (!wrong && w.to)
        wrong = fake_check_device((uint64_t)w.to, w.bytes() * (w.kind[0] == 'g' ? (uint64_t)w.comm->ranks : 1));
    if (wrong || !w.count || (w.type != NCCL_FLOAT32 && w.type != NCCL_FLOAT64))
        return fake_misuse(NCCL_INVALID_ARGUMENT, function, "%s", wrong ? wrong : "no numbers, or of another type");
    w.comm->polls = 0;
    w.comm->error = NCCL_IN_PROGRESS;
    w.comm->captured |= fake_any_capture();
    bool message = w.kind[0] == 's' || w.kind[0] == 'r';
    /* A captured operation is repeated, each time as a new one. */
    auto now = std::make_shared<struct wish>(w);
    auto ready = [now, message] { return message ? peer_is_here(*now) : all_are_here(*now); };
    auto work = [now, message, w] {
        const char *result = message ? do_message(*now) : do_collective(*now);
        *now = w;
        return result;
    };
    return fake_submit_when(stream, function, ready, work) ? NCCL_SYSTEM_ERROR : NCCL_IN_PROGRESS;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, nccl_comm c, cu_stream stream)
{
    if (op != NCCL_SUM)
        WRONG("operation %d", op);
    return submit(__func__, {"all_reduce", c, (const char *)from, (char *)to, count, type, "", {}}, stream);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, nccl_comm c, cu_stream stream)
{
    return submit(__func__, {"gather", c, (const char *)from, (char *)to, count, type, "", {}}, stream);
}

int ncclSend(const void *from, size_t count, int type, int peer, nccl_comm c, cu_stream stream)
{
    if (!c || c->ranks != 2 || peer != 1 - c->rank)
        WRONG("messages go between the two of a pair");
    return submit(__func__, {"send", c, (const char *)from, NULL, count, type, "", {}}, stream);
}

int ncclRecv(void *to, size_t count, int type, int peer, nccl_comm c, cu_stream stream)
{
    if (!c || c->ranks != 2 || peer != 1 - c->rank)
        WRONG("messages go between the two of a pair");
    return submit(__func__, {"recv", c, NULL, (char *)to, count, type, "", {}}, stream);
}
