/* Threads that call kernels themselves, without an executable, have a workspace all the same. */
#ifndef TESTS_DEVICE_WORKSPACES_H
#define TESTS_DEVICE_WORKSPACES_H
#include "device/cpu/workspace.h"

enum { WORKSPACES = 8 };

/* One for each of those that run at once. */
static inline void use_workspace(int number)
{
    static _Alignas(64) char workspace[WORKSPACES][PRODUCT_WORKSPACE + 2 * KERNEL_WORKSPACE];
    workspace_of_thread = workspace[number];
}

#endif
