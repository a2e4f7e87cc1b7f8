/* An OPTIMIZER_USER: one optimizer's step over a row of weights. Sets the gradient to zero. */
static void OPTIMIZER_(row)(const V *number, real scale, real *w, real *g, real *const *state, size_t n)
{
    struct OPTIMIZER_(numbers) r;
    (void)state;
    memcpy(&r, number, sizeof r);
    for (size_t i = 0; i < n; i += V_WIDTH) {
        struct weights p;
        p.w = load_up_to(w + i, n - i);
        p.g = v_mul(load_up_to(g + i, n - i), v_const(scale));
#pragma GCC unroll 8
        for (int k = 0; k < OPTIMIZER_STATES; k++) p.s[k] = load_up_to(state[k] + i, n - i);
        OPTIMIZER_(step)(&p, &r);
        store_up_to(w + i, p.w, n - i);
#pragma GCC unroll 8
        for (int k = 0; k < OPTIMIZER_STATES; k++) store_up_to(state[k] + i, p.s[k], n - i);
    }
    memset(g, 0, n * sizeof *g);
}
