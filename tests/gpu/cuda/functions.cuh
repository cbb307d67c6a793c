// Errors of the fast functions over every f32, against f64. functions_gpu_test.cpp prints them.
//
// `worst[c]` holds, for class c of inputs, the largest error (its bits as f32) above the bits of the input; `broken` how
// many inputs break a rule that has no error: zeros, infinities.

enum Function { EXP2, EXP, LOG2, LOG, RSQRT, SQRT, TANH, FUNCTIONS };

DEVICE float bits_as_float(u32 x) { return __uint_as_float(x); }

/// Units in the last place of f32 at y, a double in the range of normal floats.
DEVICE double in_ulp(double error, double y) {
  const int exponent = (int)(__double_as_longlong(y) >> 52 & 0x7ff) - 1023;
  return fabs(error) * __longlong_as_double((i64)(1023 + 23 - exponent) << 52);
}
DEVICE bool is_normal(double y) { return fabs(y) >= 0x1p-126 && fabs(y) < 0x1p128; }

DEVICE void note(u64 *worst, double error, u32 input) {
  const u64 key = (u64)__float_as_uint((float)error) << 32 | input;
  if (key > *worst) *worst = key;
}

template <int F> DEVICE float fast(float x) {
  return F == EXP2 ? fast_exp2(x) : F == EXP ? fast_exp(x) : F == LOG2 ? fast_log2(x) : F == LOG ? fast_log(x)
         : F == RSQRT ? fast_rsqrt(x) : F == SQRT ? fast_sqrt(x) : fast_tanh(x);
}
template <int F> DEVICE double exact(double x) {
  return F == EXP2 ? exp2(x) : F == EXP ? exp(x) : F == LOG2 ? log2(x) : F == LOG ? log(x)
         : F == RSQRT ? 1.0 / sqrt(x) : F == SQRT ? sqrt(x) : tanh(x);
}

/// Classes: the binade of |x| for exp (0: below 1, then 1 + log2 |x|), and 8: what exceeds 1.173 |x| ulp; for logarithms 0 is the
/// absolute error in [0.5, 2] and 1 the rest in ulp; for tanh 0 is ulp, 1 the relative error; 0 otherwise. `broken` counts
/// results that should be zero, infinite or NaN and are not.
template <int F> DEVICE void error_of(u32 input, u64 *worst, u32 &broken) {
  const float x = bits_as_float(input);
  if (!(fabsf(x) >= 0x1p-126f && fabsf(x) < 1.0f / 0.0f)) return; // zeros, subnormals, infinities, NaN: `evaluate`
  if ((F == LOG2 || F == LOG || F == RSQRT || F == SQRT) && x < 0) {
    const float y = fast<F>(x);
    broken += y == y;
    return;
  }
  const float y = fast<F>(x);
  const double wanted = exact<F>((double)x), error = (double)y - wanted;
  if (F == LOG2 || F == LOG) {
    if (x >= 0.5f && x <= 2.0f)
      note(worst, fabs(error), input);
    else
      note(worst + 1, in_ulp(error, wanted), input);
  } else if (!is_normal(wanted)) {
    const bool large = fabs(wanted) >= 0x1p128;
    broken += large ? !(y > 0x1.fffffep127f) : y != 0;
  } else if (F != TANH && (y == 0 || !(fabsf(y) < 1.0f / 0.0f))) {
    ++broken; // a result that is a normal float, flushed or infinite
  } else if (F == TANH) {
    note(worst, in_ulp(error, wanted), input);
    note(worst + 1, fabs(error / wanted), input);
  } else if (F == EXP) {
    const int binade = (int)(input >> 23 & 255) - 127;
    note(worst + (binade < 0 ? 0 : binade + 1), in_ulp(error, wanted), input);
    note(worst + 8, fmax(in_ulp(error, wanted) - 1.173 * fabs((double)x), 0.0), input);
  } else {
    note(worst, in_ulp(error, wanted), input);
  }
}

template <int F> DEVICE void all_errors(u64 *worst, u32 *broken) {
  u64 own[9] = {};
  u32 count = 0;
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < (u64)1 << 32; i += gridDim.x * blockDim.x)
    error_of<F>((u32)i, own, count);
  for (int c = 0; c < 9; ++c)
    if (own[c]) atomicMax(worst + c, own[c]);
  if (count) atomicAdd(broken, count);
}
#define ERRORS_OF(F) extern "C" __global__ void errors_##F(u64 *worst, u32 *broken) { all_errors<F>(worst, broken); }
ERRORS_OF(EXP2)
ERRORS_OF(EXP)
ERRORS_OF(LOG2)
ERRORS_OF(LOG)
ERRORS_OF(RSQRT)
ERRORS_OF(SQRT)
ERRORS_OF(TANH)

DEVICE u64 mix(u64 z) { // splitmix64
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// Quotients of `count` pairs: worst[0] of random pairs with |y| in [2^-126, 2^126] and normal x and quotient, worst[1] of
/// every mantissa of y under x in [1, 2). broken[0]: |y| above 2^126 and the result not zero; broken[1]: NaN missing.
extern "C" __global__ void errors_divide(u64 count, u64 *worst, u32 *broken) {
  u64 own[2] = {};
  u32 not_zero = 0;
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const u64 bits = mix(i);
    const float x = bits_as_float((u32)bits), y = bits_as_float((u32)(bits >> 32));
    const bool finite = fabsf(x) < 1.0f / 0.0f && fabsf(y) < 1.0f / 0.0f;
    if (finite && fabsf(x) >= 0x1p-126f && fabsf(y) >= 0x1p-126f) {
      const double wanted = (double)x / (double)y;
      const float found = fast_divide(x, y);
      if (fabsf(y) > 0x1p126f)
        not_zero += found != 0;
      else if (is_normal(wanted))
        note(own, in_ulp((double)found - wanted, wanted), (u32)(bits >> 32));
    }
    const float near = bits_as_float(0x3f800000 | (u32)(bits >> 41)), each = bits_as_float(0x3f800000 | (u32)(i & 0x7fffff));
    const double wanted = (double)near / (double)each;
    note(own + 1, in_ulp((double)fast_divide(near, each) - wanted, wanted), (u32)(i & 0x7fffff));
  }
  for (int c = 0; c < 2; ++c) atomicMax(worst + c, own[c]);
  if (not_zero) atomicAdd(broken, not_zero);
}

/// One function at chosen arguments; F == FUNCTIONS divides, F + 1 and F + 2 are max and min.
extern "C" __global__ void evaluate(int function, const float *x, const float *y, float *z, int count) {
  const int i = threadIdx.x;
  if (i >= count) return;
  switch (function) {
  case EXP2: z[i] = fast<EXP2>(x[i]); break;
  case EXP: z[i] = fast<EXP>(x[i]); break;
  case LOG2: z[i] = fast<LOG2>(x[i]); break;
  case LOG: z[i] = fast<LOG>(x[i]); break;
  case RSQRT: z[i] = fast<RSQRT>(x[i]); break;
  case SQRT: z[i] = fast<SQRT>(x[i]); break;
  case TANH: z[i] = fast<TANH>(x[i]); break;
  case FUNCTIONS: z[i] = fast_divide(x[i], y[i]); break;
  case FUNCTIONS + 1: z[i] = maximum(x[i], y[i]); break;
  default: z[i] = minimum(x[i], y[i]); break;
  }
}
