/* A LOSS_USER: the slopes of one loss over a row, stored over z, and the sum. */
#ifndef LOSS_IS_POINTWISE
enum { LOSS_(slopes) = 0, LOSS_(losses) = 0 }; /* none: it has its own kernel */
#else
static void LOSS_(slopes)(const struct points *row, real *z, const real *y, real scale)
{
    for (size_t i = 0; i < row->count; i += V_WIDTH) {
        const size_t rest = row->count - i;
        struct point p;
        if (LOSS_RESULTS == 1 && row->levels == 1)
            p.z[0] = load_up_to(z + i, rest), p.y = load_up_to(y + i, rest), p.level = v_const(0);
        else
            gather_points(row, z, y, i, &p);
        LOSS_(point)(&p);
        for (size_t k = 0; k < LOSS_RESULTS; k++) p.slope[k] = v_mul(p.slope[k], v_const(scale));
        if (LOSS_RESULTS == 1)
            store_up_to(z + i, p.slope[0], rest);
        else
            scatter_slopes(&p, LOSS_RESULTS, z + i * LOSS_RESULTS, rest);
    }
}

static double LOSS_(losses)(const struct points *row, const real *z, const real *y)
{
    real lane[V_WIDTH];
    double sum = 0;
    for (size_t i = 0; i < row->count; i += V_WIDTH) {
        struct point p;
        gather_points(row, z, y, i, &p);
        LOSS_(point)(&p);
        v_store(lane, p.loss);
        for (size_t l = 0; l < V_WIDTH && i + l < row->count; l++)
            sum += isnan(y[(i + l) / row->levels]) ? 0 : (double)lane[l];
    }
    return sum;
}
#endif
