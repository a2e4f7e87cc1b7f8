/* The lists of names; letter case is ignored. */
#include "data/builder/column_names.h"

#include <string.h>
#include <strings.h>

static const char *const labels[] = {"label",  "labels",    "class",    "classes", "category", "categories",
                                     "target", "species",   "genre",    "genres",  "tag",      "tags",
                                     "intent", "sentiment", "language", NULL};
static const char *const texts[] = {"text", "texts", "sentence",  "review", "comment", "message",  "tweet",    "title",
                                    "body", "name",  "utterance", "query",  "content", "sequence", "question", NULL};
static const char *const times[] = {"time",     "date",      "datetime", "timestamp", "ts",      "month",
                                    "day",      "week",      "year",     "ds",        "t",       "step",
                                    "timestep", "time_step", "tick",     "period",    "quarter", "epoch",
                                    "datum",    "fecha",     "jahr",     "zeit",      "yr",      NULL};
static const char *const rows[] = {"id",  "uuid",     "guid",      "index", "key",     "no",
                                   "row", "rownames", "row_names", "rowid", "level_0", "__index_level_0__",
                                   NULL};
static const char *const series[] = {"series",   "session", "user",    "customer", "subject", "patient", "person",
                                     "store",    "shop",    "item",    "product",  "device",  "sensor",  "station",
                                     "machine",  "unit",    "vehicle", "symbol",   "ticker",  "group",   "sequence",
                                     "location", "site",    "house",   "meter",    NULL};

/* in a table without names the first column is c1 */
static const char *const counters[] = {"c1",          "n",      "i",   "nr",   "num", "number", "obs",
                                       "observation", "sample", "sno", "s.no", "#",   NULL};

bool is_among(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcasecmp(name, *list) == 0)
            return true;
    return false;
}

bool is_label_name(const char *name) { return is_among(name, labels); }
bool is_text_name(const char *name) { return is_among(name, texts); }
bool is_time_name(const char *name) { return is_among(name, times); }
bool is_series_name(const char *name) { return is_among(name, series); }

bool is_counter_name(const char *name) { return is_among(name, counters); }

bool is_row_name(const char *name)
{
    size_t length = strlen(name);
    return is_among(name, rows) || strncasecmp(name, "Unnamed:", 8) == 0 ||
           (length > 2 && (strcasecmp(name + length - 3, "_id") == 0 || strcmp(name + length - 2, "Id") == 0 ||
                           strcmp(name + length - 2, "ID") == 0));
}

bool is_telling_name(const char *name)
{
    return is_label_name(name) || is_text_name(name) || is_time_name(name) || is_series_name(name) || is_row_name(name);
}
