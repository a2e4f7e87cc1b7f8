/* Opens a file as a data set and prints the CPU seconds that reading took: reading FILE */
#include <stdio.h>
#include <time.h>

#include "unroll_train.h"

int main(int argc, char **argv)
{
    unroll_dataset *data;
    if (argc != 2)
        return 2;
    const clock_t begin = clock();
    if (unroll_dataset_open(argv[1], NULL, &data) != UNROLL_OK) {
        fprintf(stderr, "reading: %s\n", unroll_last_error());
        return 1;
    }
    printf("%.6f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    unroll_dataset_free(data);
    return 0;
}
