/* Ends the file of an optimizer. */
#undef OPTIMIZER
#undef OPTIMIZER_STATES
#undef OPTIMIZER_RATES
