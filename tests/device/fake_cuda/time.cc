/* Time for kernels that limit their waits: it passes only while no thread can make progress. And disturbances: one
 * packet or asynchronous store that is lost, overtaken by the next, or late. */
#include "gpu_host.h"
#include "shim.h"

enum { MILLISECONDS = 10, STALLS_MAX = 8192 }; /* of a step of time; steps in a launch until it counts as a deadlock */

struct held {
    void *packet;
    uint32_t words[4];
    bool until_next;
    uint64_t until; /* time */
};

static uint64_t now = 1;
static unsigned stalls;
static bool stopped;
static struct {
    enum fake_disturbance what;
    unsigned left, milliseconds;
    const void *to;
} plan;
static list<held> packets;

void fake_disturb(enum fake_disturbance what, unsigned nth, unsigned milliseconds)
{
    plan = {what, nth, milliseconds, NULL};
}

uint32_t fake_milliseconds(void) { return (uint32_t)now; }

void time_begin(void)
{
    stalls = 0;
    stopped = false;
    packets.count = 0;
}

void fake_stop(void)
{
    stopped = true;
    fake_fail("stopped itself");
}

bool fake_stopped(void) { return stopped; }

/* Returns the disturbance of this packet or store. */
enum fake_disturbance disturbance_now(const void *to)
{
    if (!plan.left || --plan.left)
        return FAKE_UNDISTURBED;
    plan.to = to;
    return plan.what;
}

const void *fake_disturbed(void) { return plan.to; }

bool fake_hold_packet(void *packet, const uint32_t words[4])
{
    const enum fake_disturbance what = disturbance_now(packet);
    if (what == FAKE_SWAP || what == FAKE_DELAY)
        packets.push({packet,
                      {words[0], words[1], words[2], words[3]},
                      what == FAKE_SWAP,
                      now + (what == FAKE_DELAY ? plan.milliseconds : 0)});
    return what != FAKE_UNDISTURBED;
}

/* Stores the held packets whose time has come. */
static void release_packets(bool next)
{
    for (size_t i = 0; i < packets.count;) {
        const held h = packets.at[i];
        if (h.until_next ? !next : h.until > now) {
            i++;
            continue;
        }
        packets.drop(i);
        for (int k = 0; k < 4; k++) __atomic_store_n((uint32_t *)h.packet + k, h.words[k], __ATOMIC_RELAXED);
        fake_packets_changed();
    }
}

void fake_packet_stored(void) { release_packets(true); }

/* A moment passes without progress. */
void time_passes(void)
{
    now += MILLISECONDS;
    release_packets(false);
    release_stores(now);
}

uint64_t time_after(unsigned milliseconds) { return now + milliseconds; }
unsigned disturbance_delay(void) { return plan.milliseconds; }

/* No thread can run: wakes those whose waits are limited. Returns false if there are none. */
bool time_wakes(void)
{
    if (++stalls > STALLS_MAX)
        return false;
    time_passes();
    const unsigned polls = run.polls;
    for (auto &b : run.blocks) wake_those(&b.mbarrier_waiting, [](const thread *t) { return t->limited; });
    run.polls = polls;
    return run.readies > 0;
}
