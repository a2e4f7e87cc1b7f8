/* The matrix product with bf16 or int8 weights, written directly from the specification in kernel.h, for the reference.
 * Included after v_f32.h, v_low_precision.h and product_reference.h. */

static const char *lowp_word(const struct product *p, size_t n, size_t row)
{
    return (const char *)p->b + (n / PANEL * p->b_panel + row * PANEL + n % PANEL) * 4;
}

static float lowp_start(const struct product *p, size_t m, size_t n)
{
    float start = p->start == AS_IS ? ((const float *)p->c)[m * p->c_row + n] : 0;
    return p->bias ? start + ((const float *)p->bias)[n] : start;
}

static void product_bf16(const struct product *p)
{
    for (size_t m = 0; m < p->m; m++)
        for (size_t n = 0; n < p->n; n++) {
            const float *a = (const float *)p->a + m * p->a_row;
            float sum = lowp_start(p, m, n);
            for (size_t k = 0; k < p->k; k++) {
                VC word = vc_load(lowp_word(p, n, k / 2));
                sum = v_fma(a[k], k % 2 ? vc_second_bf16(word) : vc_first_bf16(word), sum);
            }
            ((float *)p->c)[m * p->c_row + n] = sum;
        }
}

static void product_int8(const struct product *p)
{
    const size_t quads = operand_words(p->k) - 1;
    for (size_t m = 0; m < p->m; m++)
        for (size_t n = 0; n < p->n; n++) {
            const float *a = (const float *)p->a + m * p->a_row;
            int32_t sum = 0;
            for (size_t k = 0; k < p->k; k++) {
                int x = ((const uint8_t *)a)[k] - INT8_OPERAND_ZERO;
                sum += x * ((const int8_t *)lowp_word(p, n, k / 4))[k % 4];
            }
            float scale = v_load((const float *)(const void *)lowp_word(p, n, quads)) * a[quads];
            ((float *)p->c)[m * p->c_row + n] = v_fma((float)sum, scale, lowp_start(p, m, n));
        }
}
