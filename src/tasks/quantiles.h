/* Scores of quantiles. */
#pragma once

/* Returns the continuous ranked probability score: twice the mean pinball loss over the levels. Quantiles are in rising
 * order, like their levels. */
double crps_of_quantiles(const double *quantile, const double *level, int levels, double truth);
