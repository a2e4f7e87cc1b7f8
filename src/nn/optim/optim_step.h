/* Types and macros for the file of an optimizer, for one V.
 *
 * An optimizer's file defines
 *      OPTIMIZER                    its name
 *      OPTIMIZER_STATES             number of states per weight, 0 .. OPTIMIZER_STATES_MAX
 *      OPTIMIZER_LEARNING_RATE      the default, PyTorch's if PyTorch has one
 *      OPTIMIZER_HYPERPARAMETERS(H) the others, each H(name, default, min, max, "description")
 *      OPTIMIZER_NUMBERS(N)         values shared by all weights of an update, each N(name, expression) in double.
 *                                   Expressions may use lr, the hyperparameters by
 *                                   name, and `update`, the number
 *                                   of this update from 1.
 * It then defines OPTIMIZER_STEP(p, r), which updates p->w and the states p->s[] from the gradient p->g and the numbers
 * r->name, and includes OPTIMIZER_USER. The gradient is already divided by the weight of the batch and clipped. */

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

/* Shared hyperparameters. */
#define BELOW_1                 0.999999
#define HYPER_EPSILON(H)        H(epsilon, 1e-8, 1e-30, 1, "added to the denominator of the step")
#define HYPER_DECAY(H, standard) H(decay, standard, 0, 10, \
    "weight decay: decoupled for adamw, otherwise added to the gradient")

/* The last operation of every optimizer: w - rate * direction. */
CELL_CODE V v_step_down(V w, V rate, V direction) { return v_sub(w, v_mul(rate, direction)); }
