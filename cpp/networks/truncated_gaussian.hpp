// The mean of a Gaussian cut to an interval, for every parameter a network can produce: a bound far in the
// tail, an interval of a millionth of sigma, infinite bounds. There the textbook formula
//     mu + sigma (phi(alpha) - phi(beta)) / (Phi(beta) - Phi(alpha))
// divides zero by zero. So there are three formulas, each used where it does not cancel; distances are in
// units of sigma, a = (near bound - mu) / sigma:
//
//   narrow     (the density varies little over the interval) the distance of the mean from the middle of the
//              interval, a ratio of int t sinh(A t) and int cosh(A t);
//   tail       (mu outside the interval) the distance of the mean from the near bound, by the one-sided
//              distribution: excess(a) = phi(a) / (1 - Phi(a)) - a, a polynomial without subtraction;
//   interior   (mu inside a wide interval) the textbook formula, its numerator in the manner of expm1.
//
// For |mu| <= 1e4, 1e-3 <= sigma <= 1e3 and widths from 1e-6 to infinity the error is below 1e-9 of the mean,
// or, if the mean is next to 0, below 1e-14 of mu moved into the interval. Only + - * / are used, so
// compilers that do not fuse multiplications into additions (-ffp-contract=off) give the same bits
// everywhere.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace hstar {
namespace truncated_gaussian {

// Gauss-Legendre rule on [0, 1].
constexpr int kNodes = 8;
inline constexpr double kNode[kNodes] = {0.019855071751231884, 0.10166676129318664, 0.2372337950418355,
                                         0.4082826787521751,   0.591717321247825,   0.7627662049581645,
                                         0.8983332387068134,   0.9801449282487681};
inline constexpr double kWeight[kNodes] = {0.05061426814518813, 0.11119051722668724, 0.15685332293894363,
                                           0.181341891689181,   0.181341891689181,   0.15685332293894363,
                                           0.11119051722668724, 0.05061426814518813};

// A polynomial from its coefficients, that of the highest power first.
template <int count>
inline double polynomial(const double (&coefficients)[count], double x) {
    double value = coefficients[0];
    for (int i = 1; i < count; ++i) value = value * x + coefficients[i];
    return value;
}

// exp(x) for x <= 0, relative error 1e-14; 0 below -708. Without branches.
inline double exp_of_negative(double x) {
    constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves an integer in the low bits
    const double clipped = x < -708.0 ? -708.0 : x;
    const double shifted = clipped * 1.4426950408889634 + kRound;
    const double n = shifted - kRound;
    const double r = (clipped - n * 0.6931471803691238) - n * 1.9082149292705877e-10;  // |r| <= log(2) / 2
    const double s = r * r;  // Taylor to the 11th power, even and odd powers apart
    const double even =
        1 + s * (1. / 2 + s * (1. / 24 + s * (1. / 720 + s * (1. / 40320 + s * (1. / 3628800)))));
    const double odd =
        1 + s * (1. / 6 + s * (1. / 120 + s * (1. / 5040 + s * (1. / 362880 + s * (1. / 39916800)))));
    const uint64_t power = std::bit_cast<uint64_t>(shifted) << 52;  // n, to be added to the exponent
    const double result = std::bit_cast<double>(std::bit_cast<uint64_t>(even + r * odd) + power);
    return x < -708.0 ? 0.0 : result;
}

inline double sigmoid(double x) {
    const double e = exp_of_negative(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// 1 - exp(-z) for z >= 0, relative error 1e-14 however small z is.
inline double one_minus_exp(double z) {
    if (z > 0.5) return 1.0 - exp_of_negative(-z);
    double p = 1.0;
    for (int k = 13; k >= 2; --k) p = 1.0 - p * z * (1.0 / k);
    return z * p;
}

// E[T] for T with density proportional to exp(-x t - t^2 / 2) on t >= 0, x >= 0; about 1 / x for large x.
// Relative error 1e-15: the Chebyshev series of (x + 3.5) E[T] in (x - 3.5) / (x + 3.5), in powers of it (the
// variable with which Shepherd and Laframboise, 1981, approximate the error function).
inline double excess(double x) {
    const double scale = 1 / (x + 3.5);
    const double t = 1 - 7 * scale;
    const double s = t * t;
    constexpr double kEven[] = {-7.665294832106207e-08, 9.049905055026607e-07,   -5.78133137656462e-06,
                                2.7205582095375212e-05, -0.00010702603855924166, 0.0003761649589763652,
                                -0.0012315975639602139, 0.0038677981312048183,   -0.01186264295934581,
                                0.035587516161854925,   -0.10078958422195869,    0.2106962463446275,
                                1.7597388540038985};
    constexpr double kOdd[] = {5.436006651299007e-08,   -4.855515189017926e-07, 1.9250043983939845e-06,
                               -3.504963053939132e-06,  -4.407588148197393e-06, 5.557911525009608e-05,
                               -0.00020438995789887694, 0.0002721706886635439,  0.0020298814180186426,
                               -0.022180098761475267,   0.15371368344032244,    -1.0299783886096383};
    return (polynomial(kEven, s) + t * polynomial(kOdd, s)) * scale;
}

// The mean of t over [-h, h] with density proportional to exp(-A t - t^2 / 2); h <= 1, 0 <= A h <= 1.
inline double narrow_offset(double A, double h) {
    // sinh(z) / z and cosh(z) as series in z^2 <= 1
    constexpr double kSinhOverZ[] = {1. / 1307674368000, 1. / 6227020800, 1. / 39916800, 1. / 362880,
                                     1. / 5040,          1. / 120,        1. / 6,        1};
    constexpr double kCosh[] = {1. / 87178291200, 1. / 479001600, 1. / 3628800, 1. / 40320,
                                1. / 720,         1. / 24,        1. / 2,       1};
    double odd = 0, even = 0;
    for (int i = 0; i < kNodes; ++i) {
        const double t = h * kNode[i];
        const double z = A * t, q = z * z;
        const double weight = kWeight[i] * exp_of_negative(-0.5 * t * t);
        odd += weight * t * t * polynomial(kSinhOverZ, q);
        even += weight * polynomial(kCosh, q);
    }
    return -A * odd / even;
}

// The mean of t over [0, D] with density proportional to exp(-a t - t^2 / 2), a >= 0: the one-sided mean less
// what lies beyond D. D >= 2 or (a + D / 2) D >= 2, so at most a seventh of the mass does.
inline double tail_offset(double a, double D) {
    const double near = excess(a);
    const double exponent = -D * (a + 0.5 * D);
    if (exponent < -80) return near;
    const double b = a + D, far = excess(b);
    const double beyond = exp_of_negative(exponent) * (a + near) / (b + far);  // P(T > D) of the one-sided T
    return (near - beyond * (D + far)) / (1 - beyond);
}

// (phi(a) - phi(b)) / (Phi(b) - Phi(a)) for a < 0 < b, -a <= b, where `asymmetry` is (b^2 - a^2) / 2.
inline double interior_offset(double a, double b, double asymmetry) {
    constexpr double kSqrtTwoPi = 2.5066282746310007;
    const double density_a = exp_of_negative(-0.5 * a * a);
    double mass = kSqrtTwoPi;
    if (a > -9) mass -= density_a / (-a + excess(-a));
    if (b < 9) mass -= exp_of_negative(-0.5 * b * b) / (b + excess(b));
    return density_a * one_minus_exp(asymmetry) / mass;
}

}  // namespace truncated_gaussian

// E[X], X ~ N(mu, sigma^2) cut to [lower, upper]. Either bound may be infinite. Needs finite mu, sigma > 0
// and lower < upper; the result lies in [lower, upper].
inline double truncated_gaussian_mean(double mu, double sigma, double lower, double upper) {
    using namespace truncated_gaussian;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (lower == -kInfinity && upper == kInfinity) return mu;
    // The middle is high + low without rounding: mu may agree with it to the last digit.
    const double sum = lower + upper;
    const double part = sum - lower;
    const double high = 0.5 * sum, low = 0.5 * ((lower - (sum - part)) + (upper - part));
    const bool finite = upper - lower < kInfinity;
    const double from_mu = (high - mu) + low;
    const bool mirrored = finite ? from_mu < 0 : lower == -kInfinity;
    const double near = mirrored ? upper : lower;
    const double sign = mirrored ? -1.0 : 1.0;
    // In units of sigma, seen from the near bound: half the width, the bound, the middle.
    const double h = 0.5 * (upper - lower) / sigma;
    const double a = sign * (near - mu) / sigma;
    const double A = finite ? sign * from_mu / sigma : kInfinity;
    double mean;
    if (h <= 1 && A * h <= 1) {
        mean = high + (low + sign * sigma * narrow_offset(A, h));
    } else if (a >= 0) {
        mean = near + sign * sigma * tail_offset(a, 2 * h);
    } else {
        mean = mu + sign * sigma * interior_offset(a, a + 2 * h, 2 * A * h);
    }
    return mean < lower ? lower : (mean > upper ? upper : mean);
}

}  // namespace hstar
