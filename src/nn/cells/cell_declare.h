/* A part of a CELL_USER: declares a cell as data. */
#ifndef CELL_DECLARE_MACROS
#define CELL_DECLARE_MACROS
#define INPUT_OF_PHASE_1(name, from) { #name, from, 0 },
#define INPUT_OF_PHASE_2(name, from) { #name, from, 1 },
#define FIELD_NAME(name)             #name,
#define QUOTE2(name)                 #name
#define QUOTE(name)                  QUOTE2(name)
#endif
#ifndef CELL_CALLED
#define CELL_CALLED QUOTE(CELL)
#endif
#ifndef CELL_FORMULA
#define CELL_FORMULA CELL_CALLED
#endif
#ifndef CELL_FACTS
#define CELL_FACTS
#endif

static const struct cell_input CELL_(input_table)[] = {GATE_INPUTS(INPUT_OF_PHASE_1) GATE_INPUTS_2(INPUT_OF_PHASE_2)};
static const char *const CELL_(state_names)[] = {STATES(FIELD_NAME) NULL};
static const char *const CELL_(saved_names)[] = {SAVED(FIELD_NAME) SAVED_2(FIELD_NAME) NULL};
static const char *const CELL_(intermediate_names)[] = {INTERMEDIATES(FIELD_NAME) NULL};
static const char *const CELL_(vector_names)[] = {VECTORS(FIELD_NAME) NULL};
static const char *const CELL_(option_names)[] = {OPTIONS(FIELD_NAME) NULL};

static const struct cell_declaration CELL_(declaration) = {.name = QUOTE(CELL),
                                                           .phases = CELL_PHASES,
                                                           .inputs = CELL_(inputs),
                                                           .states = CELL_(states),
                                                           .saved = CELL_(saved_values),
                                                           .intermediates = CELL_(intermediates),
                                                           .vectors = CELL_(vectors),
                                                           .options = CELL_(options),
                                                           .input = CELL_(input_table),
                                                           .state = CELL_(state_names),
                                                           .saved_value = CELL_(saved_names),
                                                           .intermediate = CELL_(intermediate_names),
                                                           .vector = CELL_(vector_names),
                                                           .option = CELL_(option_names),
                                                           .called = CELL_CALLED,
                                                           .formula = CELL_FORMULA,
#ifdef CELL_CHOOSES
                                                           .chooses = true,
#endif
                                                           CELL_FACTS};
