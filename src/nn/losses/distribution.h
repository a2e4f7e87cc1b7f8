/* Computes quantiles and point estimates from the results of a loss. Called through loss.h. */
#pragma once
#include "nn/losses/loss.h"

double quantile_of_levels(const struct loss_choice *, const float *z, double q);
double gaussian_quantile(const struct loss_choice *, const float *z, double q);
double student_t_quantile(const struct loss_choice *, const float *z, double q);

double first_result(const struct loss_choice *, const float *z);
double median_of_levels(const struct loss_choice *, const float *z);
double probability_of_logit(const struct loss_choice *, const float *z);
double rate_of_log(const struct loss_choice *, const float *z);
