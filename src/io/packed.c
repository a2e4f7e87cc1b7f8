/* Packed files and archives are recognized by their first bytes, even in a build that cannot unpack them. */
#include <string.h>

#include "io/archive.h"

bool archive_is(const void *head, size_t bytes, bool *has_members)
{
    static const struct {
        size_t at, length;
        const char *magic;
        bool has_members;
    } kinds[] = {{0, 3, "\x1f\x8b\x08", false}, {0, 6, "\xfd\x37zXZ", false}, {0, 4, "\x28\xb5\x2f\xfd", false},
                 {0, 3, "BZh", false},          {0, 4, "PK\3\4", true},       {0, 4, "PK\5\6", true},
                 {257, 5, "ustar", true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bytes >= kinds[i].at + kinds[i].length &&
            memcmp((const char *)head + kinds[i].at, kinds[i].magic, kinds[i].length) == 0) {
            *has_members = kinds[i].has_members;
            return true;
        }
    return false;
}
