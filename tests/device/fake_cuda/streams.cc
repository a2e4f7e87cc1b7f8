/* The fake driver's work: nothing is done when it is given, all when someone waits, in any order that streams and
 * events allow, drawn from the seed; so what is not ordered goes wrong for some seed. Captured work is a graph. */
#include "fake_driver.h"
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

enum { CU_CAPTURE_UNSUPPORTED = 900, CU_CAPTURE_UNMATCHED = 903, CU_CAPTURE_UNJOINED = 904 };

/* One thing to do after others. */
struct node {
    std::string name;
    fake_work work;                             /* none: it only joins */
    std::vector<std::shared_ptr<node>> after;
    bool done;
    double at;                                  /* milliseconds, when it was done */
};
typedef std::shared_ptr<node> node_ref;

struct cu_graph_st { std::vector<node_ref> nodes; cu_stream origin; };
struct cu_exec_st { std::vector<node_ref> nodes; };
struct cu_stream_st { bool blocking; node_ref last; cu_graph_st *capture; };
/* by_graph: a node of a graph recorded it last, at that time; 0: none did. */
struct cu_event_st { bool timed; node_ref node; cu_graph_st *capture; double by_graph; };

static std::vector<node_ref> pending;
static struct cu_stream_st default_stream = { true, NULL, NULL };
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

/* ---- doing it ----------------------------------------------------------------------------- */

static bool may_begin(const node &n)
{
    return std::all_of(n.after.begin(), n.after.end(), [](const node_ref &a) { return a->done; });
}

static cu_result do_node(node &n)
{
    const char *wrong = n.work ? n.work() : NULL;
    n.done = true;
    n.at = milliseconds();
    n.after.clear();
    return wrong ? fake_misuse(CU_LAUNCH_FAILED, n.name.c_str(), "%s", wrong) : 0;
}

/* One of those that may begin, drawn. */
static cu_result do_one(std::vector<node_ref> &list)
{
    size_t first = draw_order(list.size()), i = first;
    while (!may_begin(*list[i]))
        i = (i + 1) % list.size();
    node_ref n = list[i];
    list.erase(list.begin() + (long)i);
    return do_node(*n);
}

static cu_result finish(const node_ref &until)
{
    cu_result result = 0;
    fake_memory_open(true);
    while (!result && until && !until->done)
        result = do_one(pending);
    fake_memory_open(false);
    return result;
}

cu_result fake_finish_all(void)
{
    cu_result result = 0;
    fake_memory_open(true);
    while (!result && !pending.empty())
        result = do_one(pending);
    fake_memory_open(false);
    return result;
}

/* ---- giving it ---------------------------------------------------------------------------- */

static cu_stream stream_of(cu_stream s) { return s ? s : &default_stream; }

bool fake_capturing(cu_stream s) { return stream_of(s)->capture != NULL; }

bool fake_any_capture(void)
{
    return std::any_of(streams.begin(), streams.end(), [](cu_stream s) { return s->capture != NULL; });
}

static node_ref add(cu_stream s, const char *name, fake_work work)
{
    node_ref n = std::make_shared<node>(node{ name, std::move(work), {}, false, 0 });
    if (s->last)
        n->after.push_back(s->last);
    if (s->blocking && !s->capture) {           /* the default stream and those that heed it wait for each other */
        if (default_stream.last)
            n->after.push_back(default_stream.last);
        for (cu_stream other : streams)
            if (s == &default_stream && other->blocking && other->last && !other->capture)
                n->after.push_back(other->last);
    }
    s->last = n;
    (s->capture ? s->capture->nodes : pending).push_back(n);
    return n;
}

cu_result fake_submit(cu_stream stream, const char *name, fake_work work)
{
    add(stream_of(stream), name, std::move(work));
    return 0;
}

cu_result cuStreamCreate(cu_stream *stream, unsigned flags)
{
    CALL();
    if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x", flags);
    *stream = new cu_stream_st{ !(flags & CU_STREAM_NON_BLOCKING), NULL, NULL };
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

/* ---- events ------------------------------------------------------------------------------- */

cu_result cuEventCreate(cu_event *event, unsigned flags)
{
    CALL();
    if (flags & ~(unsigned)CU_EVENT_NO_TIMING)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x", flags);
    *event = new cu_event_st{ !(flags & CU_EVENT_NO_TIMING), NULL, NULL, 0 };
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
    event->node = add(s, "an event", NULL);
    return 0;
}

/* External: not an order inside the capture, but a node that records the event each time. */
cu_result cuEventRecordWithFlags(cu_event event, cu_stream stream, unsigned flags)
{
    CALL();
    cu_stream s = stream_of(stream);
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL || (flags && !s->capture))
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x%s", flags, s->capture ? "" : " outside of a capture");
    if (!flags)
        return cuEventRecord(event, stream);
    return fake_submit(stream, __func__, [event] { event->by_graph = milliseconds(); return (const char *)NULL; });
}

cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    CALL();
    cu_stream s = stream_of(stream);
    if (flags)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#x", flags);
    if (!event->node)
        return 0;                               /* never recorded: nothing to wait for */
    if (event->capture != s->capture) {
        if (s->capture || !event->capture)
            return fake_misuse(CU_CAPTURE_UNMATCHED, __func__, "the event and the stream are of different captures");
        s->capture = event->capture;            /* joins the capture; what it had to do is not part of it */
        s->last = NULL;
    }
    add(s, "a wait", NULL)->after.push_back(event->node);
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
    stream->capture = new cu_graph_st{ {}, stream };
    stream->last = NULL;
    return result;
}

/* All that was captured comes before the last of the origin; or a stream was forked and not joined. */
static bool is_joined(const cu_graph_st *graph, const node_ref &last)
{
    if (!last)
        return graph->nodes.empty();
    std::vector<node_ref> reached = { last };
    for (size_t i = 0; i < reached.size(); i++)
        for (auto &a : reached[i]->after)
            if (std::find(reached.begin(), reached.end(), a) == reached.end())
                reached.push_back(a);
    size_t waits = 0;                           /* events and waits alone are nothing to lose */
    for (auto &n : graph->nodes)
        waits += !n->work && std::find(reached.begin(), reached.end(), n) == reached.end();
    return reached.size() + waits == graph->nodes.size();
}

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

/* Copies of nodes, with the same order among them. */
static std::vector<node_ref> copied(const std::vector<node_ref> &nodes)
{
    std::vector<node_ref> copies;
    for (auto &n : nodes) {
        copies.push_back(std::make_shared<node>(node{ n->name, n->work, {}, false, 0 }));
        for (auto &a : n->after) {
            auto at = std::find(nodes.begin(), nodes.end(), a);
            if (at != nodes.end())
                copies.back()->after.push_back(copies[(size_t)(at - nodes.begin())]);
        }
    }
    return copies;
}

cu_result cuGraphInstantiateWithFlags(cu_exec *exec, cu_graph graph, unsigned long long flags)
{
    CALL();
    if (flags)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags %#llx", flags);
    *exec = new cu_exec_st{ copied(graph->nodes) };
    fake_count("instances of graphs not destroyed", 1);
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
    cu_result result = fake_finish_all();
    delete exec;
    fake_count("instances of graphs not destroyed", -1);
    return result;
}

cu_result cuGraphUpload(cu_exec, cu_stream)
{
    CALL();
    return 0;
}

/* The whole graph is one piece of the stream's work; inside, its own order alone counts. */
static const char *do_graph(cu_exec exec)
{
    static std::string text;
    std::vector<node_ref> left = copied(exec->nodes);
    while (!left.empty()) {
        size_t i = draw_order(left.size());
        while (!may_begin(*left[i]))
            i = (i + 1) % left.size();
        node_ref n = left[i];
        left.erase(left.begin() + (long)i);
        const char *wrong = n->work ? n->work() : NULL;
        n->done = true;
        if (wrong) {
            text = n->name + ": " + wrong;
            return text.c_str();
        }
    }
    return NULL;
}

cu_result cuGraphLaunch(cu_exec exec, cu_stream stream)
{
    CALL();
    if (fake_capturing(stream))
        return fake_misuse(CU_CAPTURE_UNSUPPORTED, __func__, "into a capture");
    return fake_submit(stream, "a graph", [exec] { return do_graph(exec); });
}
