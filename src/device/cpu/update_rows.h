/* An OPTIMIZER_USER: one optimizer's step over a row of weights. The gradient is left zero. */
static void OPTIMIZER_(row)(const struct rates *r, real scale, real *w, real *g, real *s0, real *s1, size_t n)
{
    (void)s0;
    (void)s1;
    for (size_t i = 0; i < n; i += V_WIDTH) {
        struct weights p = { .w = load_up_to(w + i, n - i) };
        p.g = v_mul(load_up_to(g + i, n - i), v_const(scale));
#if OPTIMIZER_STATES > 0
        p.s0 = load_up_to(s0 + i, n - i);
#endif
#if OPTIMIZER_STATES > 1
        p.s1 = load_up_to(s1 + i, n - i);
#endif
        OPTIMIZER_(step)(&p, r);
        store_up_to(w + i, p.w, n - i);
#if OPTIMIZER_STATES > 0
        store_up_to(s0 + i, p.s0, n - i);
#endif
#if OPTIMIZER_STATES > 1
        store_up_to(s1 + i, p.s1, n - i);
#endif
    }
    memset(g, 0, n * sizeof *g);
}
