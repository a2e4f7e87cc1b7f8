/* An OPTIMIZER_USER: records the step, with inputs "w", "g", the states and the numbers by name. */
static void OPTIMIZER_(record)(void)
{
    struct weights p = {.w = record_input("w"), .g = record_input("g")};
    const struct OPTIMIZER_(numbers) r = {OPTIMIZER_NUMBERS(NUMBER_INPUT)};
    for (int k = 0; k < OPTIMIZER_STATES; k++) p.s[k] = record_input(optimizer_state_names[k]);
    OPTIMIZER_(step)(&p, &r);
    record_result("w", p.w);
    for (int k = 0; k < OPTIMIZER_STATES; k++) record_result(optimizer_state_names[k], p.s[k]);
}
