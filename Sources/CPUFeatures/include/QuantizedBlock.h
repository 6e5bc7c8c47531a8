// Products of GGUF blocks of 32 small integers with 32 activations in 16 bits: the integer instructions that Swift has no
// word for. Everything is inlined, for the instruction set of the including target.
#ifndef GENBENCH_QUANTIZED_BLOCK_H
#define GENBENCH_QUANTIZED_BLOCK_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX512VNNI__)
#include <immintrin.h>
#endif

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

/// The largest magnitude of an activation in 16 bits: 127 * 256, so that both its bytes can be signed.
#define GENBENCH_LARGEST_ACTIVATION 32512

/// Writes 32 activations as `round(x / scale)`, where the scale takes the largest magnitude to 32512; gives the scale and
/// the sum of what was written times the scale. A block with NaN or infinity becomes zeros with a NaN as its scale.
static inline void genbench_quantize_block(const float *source, int16_t *target, float *scale, float *sum) {
  float largest = 0, probe = 0;
  for (int i = 0; i < 32; i++) {
    float magnitude = fabsf(source[i]);
    largest = magnitude > largest ? magnitude : largest;
    probe += source[i] * 0.0f;
  }
  int finite = probe == 0;
  float inverse = finite && largest > 1e-30f ? GENBENCH_LARGEST_ACTIVATION / largest : 0;
  int32_t total = 0;
  for (int i = 0; i < 32; i++) {
    float scaled = finite ? source[i] * inverse : 0;
    int32_t value = (int32_t)(scaled + (scaled < 0 ? -0.5f : 0.5f));
    value = value > GENBENCH_LARGEST_ACTIVATION ? GENBENCH_LARGEST_ACTIVATION : value;
    value = value < -GENBENCH_LARGEST_ACTIVATION ? -GENBENCH_LARGEST_ACTIVATION : value;
    target[i] = (int16_t)value;
    total += value;
  }
  *scale = finite ? (inverse == 0 ? 0 : largest / GENBENCH_LARGEST_ACTIVATION) : NAN;
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

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)
// Two neighbouring blocks at once, by VPDPBUSD: four products of bytes a lane. An activation of 16 bits is 256 * high + low,
// both signed bytes; weights must be unsigned, so an offset is added to them, and `start` takes it back.

typedef float genbench_float4 __attribute__((ext_vector_type(4)));

static inline genbench_block_sums genbench_multiply_pair(
    __m512i weights, const int8_t *high, const int8_t *low, const int32_t *start) {
  __m512i upper = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, _mm512_loadu_si512(high));
  __m512i lower = _mm512_dpbusd_epi32(_mm512_loadu_si512(start), weights, _mm512_loadu_si512(low));
  __m512i sums = _mm512_add_epi32(_mm512_slli_epi32(upper, 8), lower);
  return (genbench_block_sums)_mm512_cvtepi32_ps(sums);
}

/// Two stretches of 16 bytes of nibbles. Lanes 0-3 and 8-11 are sums of the first block (low nibbles, high nibbles), the
/// others of the second.
static inline genbench_block_sums genbench_multiply_nibble_pair(
    const void *first, const void *second, const int8_t *high, const int8_t *low, const int32_t *start) {
  __m256i packed = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)first)), _mm_loadu_si128((const __m128i *)second), 1);
  __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(packed), _mm256_srli_epi16(packed, 4), 1);
  return genbench_multiply_pair(_mm512_and_si512(both, _mm512_set1_epi8(15)), high, low, start);
}

/// Two stretches of 32 signed bytes. Lanes 0-7 are sums of the first block, the others of the second.
static inline genbench_block_sums genbench_multiply_byte_pair(
    const void *first, const void *second, const int8_t *high, const int8_t *low, const int32_t *start) {
  __m512i bytes = _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)first)), _mm256_loadu_si256((const __m256i *)second), 1);
  return genbench_multiply_pair(_mm512_xor_si512(bytes, _mm512_set1_epi8((char)0x80)), high, low, start);
}

/// The scales of two blocks in half precision, times `factors`: [scale, 0, scale, 0].
static inline genbench_float4 genbench_pair_scales(const void *first, const void *second, const float *factors) {
  uint16_t a, b;
  memcpy(&a, first, sizeof a);
  memcpy(&b, second, sizeof b);
  __m128 scales = _mm_cvtph_ps(_mm_cvtsi64_si128((long long)((uint64_t)a | (uint64_t)b << 32)));
  return (genbench_float4)_mm_mul_ps(scales, _mm_loadu_ps(factors));
}

/// The scales and minima of two blocks in half precision, times `factors`: [scale, minimum, scale, minimum].
static inline genbench_float4 genbench_pair_scales_and_minima(const void *first, const void *second, const float *factors) {
  uint32_t a, b;
  memcpy(&a, first, sizeof a);
  memcpy(&b, second, sizeof b);
  __m128 scales = _mm_cvtph_ps(_mm_cvtsi64_si128((long long)((uint64_t)a | (uint64_t)b << 32)));
  return (genbench_float4)_mm_mul_ps(scales, _mm_loadu_ps(factors));
}

/// Elements 0 and 2 spread over the lanes of `genbench_multiply_nibble_pair`.
static inline genbench_block_sums genbench_spread_for_nibbles(genbench_float4 scales) {
  const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0, 2, 2, 2, 2);
  return (genbench_block_sums)_mm512_permutexvar_ps(lanes, _mm512_castps128_ps512((__m128)scales));
}

/// Elements 0 and 2 spread over the lanes of `genbench_multiply_byte_pair`.
static inline genbench_block_sums genbench_spread_for_bytes(genbench_float4 scales) {
  const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
  return (genbench_block_sums)_mm512_permutexvar_ps(lanes, _mm512_castps128_ps512((__m128)scales));
}
#endif

#endif
