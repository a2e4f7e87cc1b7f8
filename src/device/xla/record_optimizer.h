/* An OPTIMIZER_USER: nothing is made of an optimizer but its step, which records.c calls. */
