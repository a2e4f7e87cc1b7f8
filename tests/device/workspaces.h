/* Workspaces for threads that call kernels directly, without an executable. */
#ifndef TESTS_DEVICE_WORKSPACES_H
#define TESTS_DEVICE_WORKSPACES_H
#include "device/cpu/kernels/workspace.h"

enum { WORKSPACES = 8 };

/* One for each thread that runs concurrently. */
static inline void use_workspace(int number)
{
    static _Alignas(64) char workspace[WORKSPACES][PRODUCT_WORKSPACE + 2 * KERNEL_WORKSPACE];
    workspace_of_thread = workspace[number];
}

#endif
