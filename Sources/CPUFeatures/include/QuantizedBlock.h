// Products of GGUF blocks of 32 small integers with 32 activations in 16 bits: the integer instructions that Swift has no
// word for. Everything is inlined, for the instruction set of the including target.
#ifndef GENBENCH_QUANTIZED_BLOCK_H
#define GENBENCH_QUANTIZED_BLOCK_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// How many partial sums a block's product is returned in: one vector of the instruction set.
#if defined(__AVX512BW__)
#define GENBENCH_BLOCK_LANES 16
#elif defined(__AVX2__)
#define GENBENCH_BLOCK_LANES 8
#else
#define GENBENCH_BLOCK_LANES 4
#endif

typedef float genbench_block_sums __attribute__((ext_vector_type(GENBENCH_BLOCK_LANES)));
typedef int32_t genbench_block_ints __attribute__((ext_vector_type(GENBENCH_BLOCK_LANES)));
typedef int16_t genbench_block_pairs __attribute__((ext_vector_type(2 * GENBENCH_BLOCK_LANES)));
typedef int16_t genbench_short32 __attribute__((ext_vector_type(32)));
typedef int8_t genbench_char32 __attribute__((ext_vector_type(32)));
typedef uint8_t genbench_byte16 __attribute__((ext_vector_type(16)));

/// left[2i] * right[2i] + left[2i + 1] * right[2i + 1], without overflow in 32 bits.
static inline genbench_block_ints genbench_multiply_pairs(genbench_block_pairs left, genbench_block_pairs right) {
#if defined(__AVX512BW__)
  typedef short shorts __attribute__((vector_size(64)));
  return (genbench_block_ints)__builtin_ia32_pmaddwd512((shorts)left, (shorts)right);
#elif defined(__AVX2__)
  typedef short shorts __attribute__((vector_size(32)));
  return (genbench_block_ints)__builtin_ia32_pmaddwd256((shorts)left, (shorts)right);
#elif defined(__SSE2__)
  typedef short shorts __attribute__((vector_size(16)));
  return (genbench_block_ints)__builtin_ia32_pmaddwd128((shorts)left, (shorts)right);
#else
  genbench_block_ints even = __builtin_convertvector(left.even, genbench_block_ints) *
                             __builtin_convertvector(right.even, genbench_block_ints);
  genbench_block_ints odd = __builtin_convertvector(left.odd, genbench_block_ints) *
                            __builtin_convertvector(right.odd, genbench_block_ints);
  return even + odd;
#endif
}

/// The product of 32 weights with 32 activations, as partial sums. Exact while |weight| <= 128 and |activation| <= 32767:
/// a lane holds at most 32 / lanes products, below 2^31, and is rounded once, to a float.
static inline genbench_block_sums genbench_multiply_block(const genbench_short32 *weights, const int16_t *activations) {
  genbench_block_ints sums = 0;
  for (int part = 0; part < 16 / GENBENCH_BLOCK_LANES; part++) {
    genbench_block_pairs left, right;
    memcpy(&left, (const int16_t *)weights + part * 2 * GENBENCH_BLOCK_LANES, sizeof left);
    memcpy(&right, activations + part * 2 * GENBENCH_BLOCK_LANES, sizeof right);
    sums += genbench_multiply_pairs(left, right);
  }
  return __builtin_convertvector(sums, genbench_block_sums);
}

/// 32 signed bytes, as in Q8_0.
static inline genbench_block_sums genbench_multiply_bytes(const void *weights, const int16_t *activations) {
  genbench_char32 bytes;
  memcpy(&bytes, weights, sizeof bytes);
  genbench_short32 wide = __builtin_convertvector(bytes, genbench_short32);
  return genbench_multiply_block(&wide, activations);
}

/// 16 bytes of nibbles as in Q4_0 and Q4_1: the low ones are weights 0-15, the high ones 16-31.
static inline genbench_block_sums genbench_multiply_nibbles(const void *weights, const int16_t *activations) {
  genbench_byte16 packed;
  memcpy(&packed, weights, sizeof packed);
  genbench_byte16 low = packed & 15, high = packed >> 4;
  genbench_char32 bytes = (genbench_char32)__builtin_shufflevector(
      low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
      30, 31);
  genbench_short32 wide = __builtin_convertvector(bytes, genbench_short32);
  return genbench_multiply_block(&wide, activations);
}

/// Writes 32 activations as `round(x / scale)`, where the scale takes the largest magnitude to 32767; gives the scale and
/// the sum of what was written times the scale. A block with NaN or infinity becomes zeros with a NaN as its scale.
static inline void genbench_quantize_block(const float *source, int16_t *target, float *scale, float *sum) {
  float largest = 0, probe = 0;
  for (int i = 0; i < 32; i++) {
    float magnitude = fabsf(source[i]);
    largest = magnitude > largest ? magnitude : largest;
    probe += source[i] * 0.0f;
  }
  int finite = probe == 0;
  float inverse = finite && largest > 1e-30f ? 32767.0f / largest : 0;
  int32_t total = 0;
  for (int i = 0; i < 32; i++) {
    float scaled = finite ? source[i] * inverse : 0;
    int32_t value = (int32_t)(scaled + (scaled < 0 ? -0.5f : 0.5f));
    value = value > 32767 ? 32767 : value < -32767 ? -32767 : value;
    target[i] = (int16_t)value;
    total += value;
  }
  *scale = finite ? (inverse == 0 ? 0 : largest / 32767.0f) : NAN;
  *sum = (float)total * *scale;
}

/// One half-precision number as a float.
static inline float genbench_f16_to_f32(const void *source) {
#if defined(__F16C__) || defined(__aarch64__)
  _Float16 half;
  memcpy(&half, source, sizeof half);
  return (float)half;
#else
  uint16_t half;
  memcpy(&half, source, sizeof half);
  uint32_t magnitude = (uint32_t)(half & 0x7FFF) << 13;
  uint32_t bits;
  float value;
  if ((half & 0x7C00) == 0x7C00) {
    bits = magnitude | 0x7F800000;
  } else {
    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
  }
  bits |= (uint32_t)(half & 0x8000) << 16;
  memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

#endif
