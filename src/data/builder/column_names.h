/* Names of columns that determine the meaning of their cells, whatever the cells contain. */
#pragma once
#include <stdbool.h>

bool is_label_name(const char *name);   /* label, class, species, .. */
bool is_text_name(const char *name);    /* text, review, title, .. */
bool is_time_name(const char *name);    /* time, date, timestamp, ds, .. */
bool is_row_name(const char *name);     /* identifies the rows: id, user_id, index, rownames, "Unnamed: 0", .. */
bool is_counter_name(const char *name); /* may count the rows: n, obs, .. */
bool is_series_name(const char *name);  /* distinguishes series: store, user, sensor, .. */
bool is_telling_name(const char *name); /* any of these */
bool is_among(const char *name, const char *const *list); /* the list ends with NULL; letter case is ignored */
