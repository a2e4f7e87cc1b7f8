/* How good quantiles are. */
#ifndef TASKS_QUANTILES_H
#define TASKS_QUANTILES_H

/* Twice the mean pinball loss of quantiles, in rising order as their levels, over the levels: the continuous ranked
 * probability score of what they say about `truth`. */
double crps_of_quantiles(const double *quantile, const double *level, int levels, double truth);

#endif
