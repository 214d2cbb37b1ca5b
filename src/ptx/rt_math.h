/* Arithmetic that compiled kernels call because it is not one instruction of
 * the host processor: directed rounding, exact half-precision fused
 * operations, approximations. X(name, "signature", return type, parameters),
 * the signature as in abi.h. Defined in src/device/math.c. */
#ifndef FL_PTX_RT_MATH_H
#define FL_PTX_RT_MATH_H

#define FL_RT_MATH(X) \
    X(sin_f32, "ff", float, (float x)) \
    X(cos_f32, "ff", float, (float x))

#endif
