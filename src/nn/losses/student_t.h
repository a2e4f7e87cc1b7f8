/* Negative log-likelihood of Student's t, like -torch.distributions.StudentT(n, z[0], s).log_prob(y), with s =
 * v_scale(z[1]). n = 2 + softplus(z[2]) degrees of freedom give it a finite variance. With d = (y - z[0]) / s and a =
 * d^2 / n it is (n + 1) / 2 log(1 + a) + log s + log(2 pi) / 2 + rest(2 / n), see v_log_gamma_rest. This form does not
 * cancel near a normal distribution. */
#define LOSS          student_t
#define LOSS_NAME     "student-t"
#define LOSS_ABOUT    "Student's t negative log-likelihood"
#define LOSS_RESULTS  3
#define LOSS_WANTS_LINEAR
#define LOSS_QUANTILE student_t_quantile
#define LOSS_ESTIMATE first_result

LOSS_POINT(p)
{
    const V zero = v_const(0), one = v_const(1), half = v_const(0.5f), half_log_2_pi = v_const(0.918938533f);
    V n = v_add(v_const(2), v_softplus(p->z[2])), s = v_scale(p->z[1]);
    V d = v_div(v_sub(p->y, p->z[0]), s), a = v_div(v_mul(d, d), n), more = v_add(one, a);
    V by_u, u = v_div(v_const(2), n), rest = v_log_gamma_rest(u, &by_u);
    V log_more = v_log1p(a), count = v_add(n, one), part = v_div(a, more);
    p->loss = v_fma(v_mul(half, count), log_more, v_add(v_add(v_log(s), half_log_2_pi), rest));
    p->slope[0] = v_sub(zero, v_mul(v_div(count, n), v_div(d, v_mul(s, more))));
    p->slope[1] = v_mul(v_div(v_sub(one, v_mul(count, part)), s), v_sigmoid(p->z[1]));
    V by_n = v_sub(log_more, v_add(v_mul(v_div(count, n), part), v_mul(v_mul(u, u), by_u)));
    p->slope[2] = v_mul(v_mul(half, by_n), v_sigmoid(p->z[2]));
}

#include "nn/losses/loss_end.h"
