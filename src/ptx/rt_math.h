/* Arithmetic that compiled kernels call because it is not one instruction of
 * the host processor: directed rounding, exact half-precision fused
 * operations, approximations. X(name, "signature", return type, parameters),
 * the signature as in abi.h. Defined in src/device/math.c as fl_math_<name>.
 * mode: 0 nearest even, 1 towards zero, 2 down, 3 up; with FL_MATH_FLUSHES
 * singles that would be subnormal become zero. */
#ifndef FL_PTX_RT_MATH_H
#define FL_PTX_RT_MATH_H

enum { FL_MATH_FLUSHES = 4 };

#define FL_RT_MATH(X) \
    X(add_f32, "fffi", float, (float a, float b, uint32_t mode)) \
    X(sub_f32, "fffi", float, (float a, float b, uint32_t mode)) \
    X(mul_f32, "fffi", float, (float a, float b, uint32_t mode)) \
    X(div_f32, "fffi", float, (float a, float b, uint32_t mode)) \
    X(fma_f32, "ffffi", float, (float a, float b, float c, uint32_t mode)) \
    X(sqrt_f32, "ffi", float, (float a, uint32_t mode)) \
    X(add_f64, "dddi", double, (double a, double b, uint32_t mode)) \
    X(sub_f64, "dddi", double, (double a, double b, uint32_t mode)) \
    X(mul_f64, "dddi", double, (double a, double b, uint32_t mode)) \
    X(div_f64, "dddi", double, (double a, double b, uint32_t mode)) \
    X(fma_f64, "ddddi", double, (double a, double b, double c, uint32_t mode)) \
    X(sqrt_f64, "ddi", double, (double a, uint32_t mode)) \
    X(fma_f16, "hhhh", uint16_t, (uint16_t a, uint16_t b, uint16_t c)) \
    X(fma_bf16, "hhhh", uint16_t, (uint16_t a, uint16_t b, uint16_t c)) \
    X(f32_from_f16, "fh", float, (uint16_t x)) \
    X(f16_from_f32, "hfi", uint16_t, (float x, uint32_t mode)) \
    X(bf16_from_f32, "hfi", uint16_t, (float x, uint32_t mode)) \
    X(f16_from_f64, "hdi", uint16_t, (double x, uint32_t mode)) \
    X(bf16_from_f64, "hdi", uint16_t, (double x, uint32_t mode)) \
    X(f32_from_f64, "fdi", float, (double x, uint32_t mode)) \
    X(f32_from_s64, "fli", float, (int64_t x, uint32_t mode)) \
    X(f32_from_u64, "fli", float, (uint64_t x, uint32_t mode)) \
    X(f64_from_s64, "dli", double, (int64_t x, uint32_t mode)) \
    X(f64_from_u64, "dli", double, (uint64_t x, uint32_t mode)) \
    X(f16_from_s64, "hli", uint16_t, (int64_t x, uint32_t mode)) \
    X(f16_from_u64, "hli", uint16_t, (uint64_t x, uint32_t mode)) \
    X(bf16_from_s64, "hli", uint16_t, (int64_t x, uint32_t mode)) \
    X(bf16_from_u64, "hli", uint16_t, (uint64_t x, uint32_t mode)) \
    X(fp8_from_f32, "ifi", uint32_t, (float x, uint32_t e5m2)) \
    X(f16_from_fp8, "hii", uint16_t, (uint32_t x, uint32_t e5m2)) \
    X(fns, "iiii", uint32_t, (uint32_t mask, uint32_t base, uint32_t offset))

#endif
