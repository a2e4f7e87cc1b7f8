/* The fake driver's work: it is not done when submitted, but when something waits for it, in a random order that
 * streams and events allow. So missing dependencies fail for some seed. Captured work becomes a graph. */
#include "fake_driver.h"
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

enum { CU_CAPTURE_UNSUPPORTED = 900, CU_CAPTURE_UNMATCHED = 903, CU_CAPTURE_UNJOINED = 904 };

/* A unit of work with dependencies. */
struct node {
    std::string name;
    fake_work work;                                   /* empty: only joins */
    fake_ready ready;                                 /* empty: ready when its dependencies are done */
    std::vector<std::shared_ptr<node>> after, before; /* before: nodes that wait for this one, once it is scheduled */
    size_t left;                                      /* number of dependencies that are not done */
    bool done;
    double at; /* completion time in milliseconds */
};
typedef std::shared_ptr<node> node_ref;

struct cu_graph_st {
    std::vector<node_ref> nodes;
    cu_stream origin;
};
struct gpu_graph_handle {
    std::vector<node_ref> nodes;
};
struct gpu_stream_handle {
    bool blocking;
    node_ref last;
    cu_graph_st *capture;
};
/* by_graph: time at which a graph's node last recorded it; 0: none did. */
struct gpu_event_handle {
    bool timed;
    node_ref node;
    cu_graph_st *capture;
    double by_graph;
};

/* Work that may be done now; the rest depends on it. Never destroyed, because chains of work that is never done may be
 * long. */
static std::vector<node_ref> &next_ones = *new std::vector<node_ref>;
static struct gpu_stream_handle default_stream = {true, NULL, NULL};
static std::vector<cu_stream> streams;
static uint64_t random_state;

static uint64_t draw_order(uint64_t below)
{
    if (!random_state)
        random_state = (uint64_t)fake_setting("SEED", 1) * 0x9e3779b97f4a7c15 + 1;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return fake_setting("SEED", 1) ? (random_state >> 11) % below : 0;
}

static double milliseconds(void)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* ---- doing work --------------------------------------------------------------------------- */

static node_ref node_new(const std::string &name, fake_work work, fake_ready ready)
{
    return std::make_shared<node>(node{name, std::move(work), std::move(ready), {}, {}, 0, false, 0});
}

/* Schedules a node, whose dependencies are known. */
static void pend(const node_ref &n)
{
    for (auto &a : n->after)
        if (!a->done) {
            a->before.push_back(n);
            n->left++;
        }
    if (!n->left)
        next_ones.push_back(n);
}

static cu_result do_node(node &n)
{
    const char *wrong = n.work ? n.work() : NULL;
    n.done = true;
    n.at = milliseconds();
    n.after.clear();
    for (auto &b : n.before)
        if (!--b->left)
            next_ones.push_back(b);
    n.before.clear();
    if (wrong && fake_stopped())
        return fake_lose(CU_LAUNCH_FAILED);
    return wrong ? fake_misuse(CU_LAUNCH_FAILED, n.name.c_str(), "%s", wrong) : 0;
}

/* Does one random unit of work that is ready; *moved: there was one. */
static cu_result do_one(bool *moved)
{
    const size_t count = next_ones.size(), first = count ? draw_order(count) : 0;
    *moved = false;
    for (size_t k = 0; k < count; k++) {
        const size_t i = (first + k) % count;
        if (next_ones[i]->ready && !next_ones[i]->ready())
            continue;
        node_ref n = next_ones[i];
        next_ones.erase(next_ones.begin() + (long)i);
        *moved = true;
        return do_node(*n);
    }
    return 0;
}

/* Does work until `done` or, if `waits` is false, until the rest depends on other processes. */
static cu_result work_until(const std::function<bool()> &done, bool waits)
{
    cu_result result = 0;
    bool moved = true;
    fake_memory_open(true);
    while (!result && !done() && (moved || waits)) {
        result = do_one(&moved);
        if (!moved && waits)
            usleep(50);
    }
    fake_memory_open(false);
    return result;
}

static cu_result finish(const node_ref &until)
{
    return until && !until->done ? work_until([&] { return until->done; }, true) : 0;
}

cu_result fake_finish_all(void)
{
    return next_ones.empty() ? 0 : work_until([] { return next_ones.empty(); }, true);
}

/* ---- submitting work ---------------------------------------------------------------------- */

static cu_stream stream_of(cu_stream s) { return s ? s : &default_stream; }

bool fake_capturing(cu_stream s) { return stream_of(s)->capture != NULL; }

bool fake_any_capture(void)
{
    return std::any_of(streams.begin(), streams.end(), [](cu_stream s) { return s->capture != NULL; });
}

/* after: an additional dependency, or NULL. */
static node_ref add(cu_stream s, const char *name, fake_work work, fake_ready ready, const node_ref &after)
{
    node_ref n = node_new(name, std::move(work), std::move(ready));
    if (after)
        n->after.push_back(after);
    if (s->last)
        n->after.push_back(s->last);
    if (s->blocking && !s->capture) { /* the default stream and blocking streams wait for each other */
        if (default_stream.last)
            n->after.push_back(default_stream.last);
        for (cu_stream other : streams)
            if (s == &default_stream && other->blocking && other->last && !other->capture)
                n->after.push_back(other->last);
    }
    s->last = n;
    if (s->capture)
        s->capture->nodes.push_back(n);
    else
        pend(n);
    return n;
}

cu_result fake_submit(cu_stream stream, const char *name, fake_work work)
{
    add(stream_of(stream), name, std::move(work), NULL, NULL);
    return 0;
}

cu_result fake_submit_when(cu_stream stream, const char *name, fake_ready ready, fake_work work)
{
    add(stream_of(stream), name, std::move(work), std::move(ready), NULL);
    return 0;
}

cu_result cuStreamCreate(cu_stream *stream, unsigned flags)
{
    CALL();
    if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x", flags);
    *stream = new gpu_stream_handle{!(flags & CU_STREAM_NON_BLOCKING), NULL, NULL};
    streams.push_back(*stream);
    return 0;
}

cu_result cuStreamDestroy_v2(cu_stream stream)
{
    CALL();
    auto at = std::find(streams.begin(), streams.end(), stream);
    if (at == streams.end())
        return fake_misuse(CU_INVALID_HANDLE, __func__, "no stream");
    cu_result result = finish(stream->last);
    streams.erase(at);
    delete stream;
    return result;
}

cu_result cuStreamSynchronize(cu_stream stream)
{
    CALL();
    if (fake_capturing(stream))
        return fake_misuse(CU_CAPTURE_UNSUPPORTED, __func__, "the stream is being captured");
    return finish(stream_of(stream)->last);
}

cu_result cuStreamQuery(cu_stream stream)
{
    CALL();
    if (fake_capturing(stream))
        return fake_misuse(CU_CAPTURE_UNSUPPORTED, __func__, "the stream is being captured");
    const node_ref last = stream_of(stream)->last;
    if (!last || last->done)
        return 0;
    cu_result result = work_until([&] { return last->done; }, false);
    return result ? result : last->done ? 0 : CU_NOT_READY;
}

/* ---- events ------------------------------------------------------------------------------- */

cu_result cuEventCreate(cu_event *event, unsigned flags)
{
    CALL();
    if (flags & ~(unsigned)CU_EVENT_NO_TIMING)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x", flags);
    *event = new gpu_event_handle{!(flags & CU_EVENT_NO_TIMING), NULL, NULL, 0};
    return 0;
}

cu_result cuEventDestroy_v2(cu_event event)
{
    CALL();
    delete event;
    return 0;
}

cu_result cuEventRecord(cu_event event, cu_stream stream)
{
    CALL();
    cu_stream s = stream_of(stream);
    event->capture = s->capture;
    event->node = add(s, "an event", NULL, NULL, NULL);
    return 0;
}

/* External: not a dependency inside the capture, but a node that records the event in each launch. */
cu_result cuEventRecordWithFlags(cu_event event, cu_stream stream, unsigned flags)
{
    CALL();
    cu_stream s = stream_of(stream);
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL || (flags && !s->capture))
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x%s", flags, s->capture ? "" : " outside of a capture");
    if (!flags)
        return cuEventRecord(event, stream);
    return fake_submit(stream, __func__, [event] {
        event->by_graph = milliseconds();
        return (const char *)NULL;
    });
}

cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    CALL();
    cu_stream s = stream_of(stream);
    if (flags)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x", flags);
    if (!event->node)
        return 0; /* never recorded: nothing to wait for */
    if (event->capture != s->capture) {
        if (s->capture || !event->capture)
            return fake_misuse(CU_CAPTURE_UNMATCHED, __func__, "the event and the stream are of different captures");
        s->capture = event->capture; /* joins the capture; its earlier work is not captured */
        s->last = NULL;
    }
    add(s, "a wait", NULL, NULL, event->node);
    return 0;
}

cu_result cuEventElapsedTime(float *time, cu_event first, cu_event last)
{
    CALL();
    if (first->timed && last->timed && first->by_graph != 0 && last->by_graph != 0) {
        *time = (float)(last->by_graph - first->by_graph);
        return 0;
    }
    if (!first->timed || !last->timed || !first->node || !last->node || first->capture || last->capture)
        return fake_misuse(CU_INVALID_HANDLE, __func__, "events that were not recorded, or take no time");
    if (!first->node->done || !last->node->done)
        return CU_NOT_READY;
    *time = (float)(last->node->at - first->node->at);
    return 0;
}

/* ---- graphs ------------------------------------------------------------------------------- */

cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    CALL();
    if (!stream || stream->capture || mode < 0 || mode > 2)
        return fake_misuse(CU_CAPTURE_UNSUPPORTED, __func__, "the default stream, or one that is being captured");
    cu_result result = finish(stream->last);
    stream->capture = new cu_graph_st{{}, stream};
    stream->last = NULL;
    return result;
}

/* True if all captured work precedes the last node of the origin; otherwise a stream was forked and not joined. */
static bool is_joined(const cu_graph_st *graph, const node_ref &last)
{
    if (!last)
        return graph->nodes.empty();
    std::vector<node_ref> reached = {last};
    for (size_t i = 0; i < reached.size(); i++)
        for (auto &a : reached[i]->after)
            if (std::find(reached.begin(), reached.end(), a) == reached.end())
                reached.push_back(a);
    size_t waits = 0; /* events and waits alone may be lost */
    for (auto &n : graph->nodes) waits += !n->work && std::find(reached.begin(), reached.end(), n) == reached.end();
    return reached.size() + waits == graph->nodes.size();
}

/* Ends a capture; fails if the origin does not wait for all forked streams. */
cu_result cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    CALL();
    cu_graph_st *g = stream->capture;
    if (!g || g->origin != stream)
        return fake_misuse(CU_CAPTURE_UNMATCHED, __func__, "no capture was begun on this stream");
    bool joined = is_joined(g, stream->last);
    for (cu_stream s : streams)
        if (s->capture == g) {
            s->capture = NULL;
            s->last = NULL;
        }
    if (!joined) {
        delete g;
        return fake_misuse(CU_CAPTURE_UNJOINED, __func__, "a stream was forked and its work is not waited for");
    }
    fake_count("graphs not destroyed", 1);
    *graph = g;
    return 0;
}

/* Copies nodes with their dependencies. */
static std::vector<node_ref> copied(const std::vector<node_ref> &nodes)
{
    std::vector<node_ref> copies;
    std::unordered_map<const node *, size_t> place;
    for (auto &n : nodes) {
        place[n.get()] = copies.size();
        copies.push_back(node_new(n->name, n->work, n->ready));
        for (auto &a : n->after)
            if (place.count(a.get()))
                copies.back()->after.push_back(copies[place[a.get()]]);
    }
    return copies;
}

cu_result cuGraphInstantiateWithFlags(cu_exec *exec, cu_graph graph, unsigned long long flags)
{
    CALL();
    if (flags)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#llx", flags);
    *exec = new gpu_graph_handle{copied(graph->nodes)};
    fake_count("executables of graphs not destroyed", 1);
    return 0;
}

cu_result cuGraphDestroy(cu_graph graph)
{
    CALL();
    delete graph;
    fake_count("graphs not destroyed", -1);
    return 0;
}

cu_result cuGraphExecDestroy(cu_exec exec)
{
    CALL();
    delete exec; /* a running launch has nodes of its own */
    fake_count("executables of graphs not destroyed", -1);
    return 0;
}

cu_result cuGraphUpload(cu_exec, cu_stream)
{
    CALL();
    return 0;
}

/* Inside a graph only its own dependencies count. What follows it waits for all of it. */
cu_result cuGraphLaunch(cu_exec exec, cu_stream stream)
{
    CALL();
    if (fake_capturing(stream))
        return fake_misuse(CU_CAPTURE_UNSUPPORTED, __func__, "into a capture");
    cu_stream s = stream_of(stream);
    const node_ref first = add(s, "a graph", NULL, NULL, NULL), last = node_new("the end of a graph", NULL, NULL);
    for (auto &n : copied(exec->nodes)) {
        n->after.push_back(first);
        pend(n);
        last->after.push_back(n);
    }
    last->after.push_back(first);
    s->last = last;
    pend(last);
    return 0;
}
