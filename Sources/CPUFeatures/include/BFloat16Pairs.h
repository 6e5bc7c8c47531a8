// Products of pairs of bfloat16 numbers, and the packing of floats into such pairs.
#ifndef GENBENCH_BFLOAT16_PAIRS_H
#define GENBENCH_BFLOAT16_PAIRS_H

#if defined(__AVX512BF16__)
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef float genbench_float16 __attribute__((ext_vector_type(16)));

/// sum[i] + pair[0] * panel[i][0] + pair[1] * panel[i][1], by VDPBF16PS: products exact, sums rounded to single precision,
/// subnormal numbers taken as zero.
static inline genbench_float16 genbench_add_bf16_pairs(genbench_float16 sum, int32_t pair, const void *panel) {
  return (genbench_float16)_mm512_dpbf16_ps(
      (__m512)sum, (__m512bh)_mm512_set1_epi32(pair), (__m512bh)_mm512_loadu_si512(panel));
}

/// Sixteen floats of each of two rows become sixteen pairs (even row first), rounded to nearest even.
static inline void genbench_interleave_bf16(const float *even, const float *odd, void *target) {
  __m256i first = (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(even));
  __m256i second = (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(odd));
  __m512i pairs = _mm512_or_si512(
      _mm512_cvtepu16_epi32(first), _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
  _mm512_storeu_si512(target, pairs);
}

/// Up to sixteen floats become as many bfloat16 numbers, rounded to nearest even.
static inline void genbench_to_bf16(const float *source, void *target, long count) {
  __mmask16 lanes = (__mmask16)((1u << count) - 1);
  __m256i halves = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(lanes, source));
  _mm256_mask_storeu_epi16(target, lanes, halves);
}
#endif

#endif
