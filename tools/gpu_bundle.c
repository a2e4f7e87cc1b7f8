/* One program that replaces several, for a bare machine with a GPU (gpu_bundle.sh): `unroll`, or a test program if
 * the first argument names one. They share one library, so that the kernels' images are stored once. The Makefile
 * renames each program's main. */
#include <string.h>

int main_unroll(int count, char **argument);
int main_test_device(int count, char **argument);
int main_test_ways(int count, char **argument);
int main_test_curve(int count, char **argument);
int main_test_ranks(int count, char **argument);

static const struct {
    const char *name;
    int (*main)(int count, char **argument);
} programs[] = {{"tests/cases/test_device", main_test_device},
                {"tests/cases/test_ways", main_test_ways},
                {"tests/cases/test_curve", main_test_curve},
                {"tests/session/test_ranks", main_test_ranks}};

int main(int count, char **argument)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (count > 1 && strcmp(argument[1], programs[i].name) == 0)
            return programs[i].main(count - 1, argument + 1);
    return main_unroll(count, argument);
}
