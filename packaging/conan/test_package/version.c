#include <stdio.h>
#include <unroll.h>

int main(void)
{
    printf("unroll %s\n", unroll_version());
    return 0;
}
