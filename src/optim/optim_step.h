/* What an optimizer's file works on, for one V.
 *
 * An optimizer's file defines
 *     OPTIMIZER                    its name
 *     OPTIMIZER_STATES             how many states it keeps for each weight, 0 .. OPTIMIZER_STATES_MAX
 *     OPTIMIZER_LEARNING_RATE      the default, PyTorch's where PyTorch has one
 *     OPTIMIZER_HYPERPARAMETERS(H) its others: H(name, default, least, most, "what it is") each
 *     OPTIMIZER_NUMBERS(N)         what all weights of an update share: N(name, expression) each, in double, of lr, of
 *                                  `update`, the number of updates with this one, and of the hyperparameters by name
 * writes OPTIMIZER_STEP(p, r), which changes p->w and the states p->s[] by the gradient p->g and the numbers r->name,
 * and includes OPTIMIZER_USER. The gradient arrives divided by the weight of the batch and clipped. */

#define OPTIMIZER_PASTE2(a, b) a##_##b
#define OPTIMIZER_PASTE(a, b)  OPTIMIZER_PASTE2(a, b)
#define OPTIMIZER_(name)       OPTIMIZER_PASTE(OPTIMIZER, name)     /* OPTIMIZER_(step) is adam_step */

#define OPTIMIZER_NUMBER(name, expression) V name;
#define OPTIMIZER_STEP(p, r)                                                \
    struct OPTIMIZER_(numbers) { OPTIMIZER_NUMBERS(OPTIMIZER_NUMBER) };     \
    CELL_CODE void OPTIMIZER_(step)(struct weights *p, const struct OPTIMIZER_(numbers) *r)

struct weights {
    V w, g, s[OPTIMIZER_STATES_MAX];
};

/* Hyperparameters that several have. */
#define BELOW_1                 0.999999
#define HYPER_EPSILON(H)        H(epsilon, 1e-8, 1e-30, 1, "added to the denominator of the step")
#define HYPER_DECAY(H, standard) H(decay, standard, 0, 10, \
    "weight decay: adamw's shrinks weights by itself, of the others it is a part of the gradient")

/* How every optimizer ends: w - rate * direction. */
CELL_CODE V v_step_down(V w, V rate, V direction) { return v_sub(w, v_mul(rate, direction)); }
