/* Names of the files in a folder or an archive of data. */
#pragma once
#include <stdbool.h>

const char *member_base_name(const char *path);
bool member_is_hidden(const char *member); /* a part of its path begins with a dot */
bool member_is_about(const char *member);  /* README, LICENSE and the like */
