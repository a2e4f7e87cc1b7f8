/* An OPTIMIZER_USER: declares the optimizer as data and computes its numbers in double. */
#define OPTIMIZER_TEXT2(name)                       #name
#define OPTIMIZER_TEXT(name)                        OPTIMIZER_TEXT2(name)
#define OPTIMIZER_ROW(name_, default_, min_, max_, about_) \
    { .name = #name_, .about = about_, .standard = default_, .min = min_, .max = max_ },
#define OPTIMIZER_LOCAL(name, default_, min, max, about) const double name = *value++; (void)name;
#define OPTIMIZER_NAME(name, expression)            #name,
#define OPTIMIZER_MADE(name, expression)            *number++ = (expression);

static void OPTIMIZER_(make_numbers)(double lr, double update, const double *value, double *number)
{
    (void)update;
    OPTIMIZER_HYPERPARAMETERS(OPTIMIZER_LOCAL)
    OPTIMIZER_NUMBERS(OPTIMIZER_MADE)
}

static const struct hyperparameter OPTIMIZER_(hyperparameters)[] = {
    OPTIMIZER_HYPERPARAMETERS(OPTIMIZER_ROW){.name = NULL}};
static const char *const OPTIMIZER_(number_names)[] = {OPTIMIZER_NUMBERS(OPTIMIZER_NAME) NULL};
static const struct optimizer OPTIMIZER_(optimizer) = {.name = OPTIMIZER_TEXT(OPTIMIZER),
                                                       .states = OPTIMIZER_STATES,
                                                       .learning_rate = OPTIMIZER_LEARNING_RATE,
                                                       .hyperparameter = OPTIMIZER_(hyperparameters),
                                                       .number = OPTIMIZER_(number_names),
                                                       .make_numbers = OPTIMIZER_(make_numbers)};
_Static_assert(sizeof OPTIMIZER_(hyperparameters) / sizeof(struct hyperparameter) <= UNROLL_HYPERPARAMETERS + 1 &&
                   sizeof OPTIMIZER_(number_names) / sizeof(char *) <= OPTIMIZER_NUMBERS_MAX + 1 &&
                   OPTIMIZER_STATES <= OPTIMIZER_STATES_MAX,
               "an optimizer has too many entries");

#undef OPTIMIZER_TEXT2
#undef OPTIMIZER_TEXT
#undef OPTIMIZER_ROW
#undef OPTIMIZER_LOCAL
#undef OPTIMIZER_NAME
#undef OPTIMIZER_MADE
