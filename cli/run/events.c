/* TensorBoard events: records of protobuf messages, both encoded by hand because so little of the formats is needed.
 * Messages (tensorflow/core/util/event.proto, framework/summary.proto), by field number: Event {1 wall_time, 2 step,
 * 3 file_version, 5 Summary, 7 SessionLog}, Summary {1 Value}, Value {1 tag, 2 simple_value}, SessionLog {1 status}. */
#include "cli/run/events.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/number.h"
#include "cli/show/console.h"
#include "cli/run/crc.h"
#include "cli/show/output.h"

/* ---- messages ---- */

enum { MESSAGE_ROOM = 512, TAG_LONGEST = 64 };
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { SESSION_STARTS = 1 };

struct event_message {
    size_t length;
    uint8_t bytes[MESSAGE_ROOM];
};

static void put_bytes(struct event_message *m, const void *bytes, size_t count)
{
    memcpy(m->bytes + m->length, bytes, count);
    m->length += count;
}

static void put_little_endian(struct event_message *m, uint64_t value, size_t bytes)
{
    put_number(m->bytes + m->length, value, bytes);
    m->length += bytes;
}

/* Writes seven bits per byte, lowest first. */
static void put_varint(struct event_message *m, uint64_t value)
{
    for (; value >= 128; value >>= 7) m->bytes[m->length++] = (uint8_t)(value | 128);
    m->bytes[m->length++] = (uint8_t)value;
}

static void put_key(struct event_message *m, int field, enum wire wire) { put_varint(m, (uint64_t)field << 3 | wire); }

static void put_string(struct event_message *m, int field, const void *bytes, size_t count)
{
    put_key(m, field, BYTES);
    put_varint(m, count);
    put_bytes(m, bytes, count);
}

static void put_scalar(struct event_message *summary, const struct event_value *value)
{
    struct event_message m = {0};
    float number = (float)value->value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_string(&m, 1, value->tag, strnlen(value->tag, TAG_LONGEST));
    put_key(&m, 2, FIXED32);
    put_little_endian(&m, bits, 4);
    put_string(summary, 1, m.bytes, m.length);
}

/* Returns an event with the current time and without content. */
static struct event_message event_of(int64_t step)
{
    struct event_message m = {0};
    struct timespec now;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(&bits, &seconds, sizeof bits);
    put_key(&m, 1, FIXED64);
    put_little_endian(&m, bits, 8);
    put_key(&m, 2, VARINT);
    put_varint(&m, (uint64_t)step);
    return m;
}

/* ---- records ---- */

/* Masks a checksum as the format requires, so that data that contain checksums still get a good one. */
static uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8; }

/* Writes the length (8 bytes), its checksum (4), the message and its checksum (4). */
static bool write_record(FILE *file, const struct event_message *m)
{
    struct event_message record = {0};
    put_little_endian(&record, m->length, 8);
    put_little_endian(&record, masked(crc32c(record.bytes, 8)), 4);
    bool written = fwrite(record.bytes, 1, record.length, file) == record.length &&
                   fwrite(m->bytes, 1, m->length, file) == m->length;
    record.length = 0;
    put_little_endian(&record, masked(crc32c(m->bytes, m->length)), 4);
    return written && fwrite(record.bytes, 1, record.length, file) == record.length && fflush(file) == 0;
}

/* ---- files ---- */

/* Reads the time in a file's name. Only the whole seconds count, since other writers' times may have a fraction. */
static bool time_in(const char *name, int64_t *seconds)
{
    const char *at = name + sizeof EVENTS_PREFIX - 1;
    return strncmp(name, EVENTS_PREFIX, sizeof EVENTS_PREFIX - 1) == 0 &&
           number_integer(&at, NULL, 0, INT64_MAX - 1, seconds) == NUMBER_OK;
}

/* Returns a time for the name of a new file. TensorBoard reads the files of a directory in the order of their names,
 * which begin with a time. Ours is after all existing ones, even in the same second or after the clock was set back. */
static int64_t time_of_file(const char *directory)
{
    int64_t newest = (int64_t)time(NULL) - 1, found;
    DIR *entries = NULL;
    const char *name;
    while ((name = next_name(directory, &entries)))
        if (time_in(name, &found) && found > newest)
            newest = found;
    return newest + 1;
}

static unroll_status cannot_write(const struct events *events)
{
    return complain(UNROLL_RESOURCE, "cannot write '%s': %s; fix: free space on the disk, or write to another place",
                    events->path, strerror(errno));
}

static bool write_beginning(FILE *file, int64_t after)
{
    static const char version[] = "brain.Event:2";
    static const uint8_t session_starts[] = {1 << 3 | VARINT, SESSION_STARTS};
    struct event_message m = event_of(0);
    put_string(&m, 3, version, sizeof version - 1);
    if (!write_record(file, &m))
        return false;
    if (after < 0)
        return true;
    m = event_of(after + 1);
    put_string(&m, 7, session_starts, sizeof session_starts);
    return write_record(file, &m);
}

unroll_status events_open(struct events *events, const char *directory, int64_t after)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    int length = snprintf(events->path, sizeof events->path, "%s/" EVENTS_PREFIX "%010" PRId64 ".%s.%d.0", directory,
                          time_of_file(directory), *host ? host : "localhost", (int)getpid());
    errno = ENAMETOOLONG;
    if (length >= (int)sizeof events->path || (events->file = fopen(events->path, "wb")) == NULL)
        return cannot_write(events);
    return write_beginning(events->file, after) ? UNROLL_OK : cannot_write(events);
}

unroll_status events_write(struct events *events, int64_t step, const struct event_value *values, int count)
{
    struct event_message m = event_of(step), summary = {0};
    for (int i = 0; i < count; i++)
        if (isfinite(values[i].value))
            put_scalar(&summary, &values[i]);
    put_string(&m, 5, summary.bytes, summary.length);
    return write_record(events->file, &m) ? UNROLL_OK : cannot_write(events);
}

void events_close(struct events *events)
{
    if (events->file)
        fclose(events->file);
    events->file = NULL;
}
