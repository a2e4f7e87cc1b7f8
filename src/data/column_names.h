/* Names of columns that say what their cells are, whatever the cells look like. */
#ifndef DATA_COLUMN_NAMES_H
#define DATA_COLUMN_NAMES_H
#include <stdbool.h>

bool is_label_name(const char *name);   /* label, class, species, .. */
bool is_text_name(const char *name);    /* text, review, title, .. */
bool is_time_name(const char *name);    /* time, date, timestamp, ds, .. */
bool is_row_name(const char *name);     /* names the rows: id, user_id, index, rownames, "Unnamed: 0", .. */
bool is_counter_name(const char *name); /* may count the rows: n, obs, .. */
bool is_series_name(const char *name);  /* tells series apart: store, user, sensor, .. */
bool is_telling_name(const char *name); /* any of these */
bool is_among(const char *name, const char *const *list); /* ends with NULL; letters of any case */

#endif
