/* Loops over rows of elements on V, including partial vectors at the end. */

CELL_CODE V load_up_to(const real *at, size_t n) { return n < V_WIDTH ? v_load_some(at, n) : v_load(at); }

CELL_CODE void store_up_to(real *at, V a, size_t n)
{
    if (n < V_WIDTH)
        v_store_some(at, a, n);
    else
        v_store(at, a);
}

CELL_CODE void copy_numbers(real *to, const real *from, size_t n)
{
    for (size_t i = 0; i < n; i += V_WIDTH) store_up_to(to + i, load_up_to(from + i, n - i), n - i);
}

CELL_CODE void add_numbers(real *to, const real *from, size_t n)
{
    for (size_t i = 0; i < n; i += V_WIDTH)
        store_up_to(to + i, v_add(load_up_to(to + i, n - i), load_up_to(from + i, n - i)), n - i);
}
