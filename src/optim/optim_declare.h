/* An OPTIMIZER_USER: the optimizer as data. */
#define OPTIMIZER_TEXT2(name) #name
#define OPTIMIZER_TEXT(name)  OPTIMIZER_TEXT2(name)

static const struct optimizer OPTIMIZER_(optimizer) = {
    .name = OPTIMIZER_TEXT(OPTIMIZER), .states = OPTIMIZER_STATES, .rate = OPTIMIZER_RATES,
};

#undef OPTIMIZER_TEXT2
#undef OPTIMIZER_TEXT
