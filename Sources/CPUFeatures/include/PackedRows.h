// Packing of 16-bit weights: sixteen rows, as they lie in their file, become sixteen columns of a panel.
#ifndef GENBENCH_PACKED_ROWS_H
#define GENBENCH_PACKED_ROWS_H

#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__F16C__)
#define GENBENCH_HAS_PACKED_ROWS 1
#include <immintrin.h>
#include <stdint.h>

/// Sixteen rows of sixteen 32-bit elements become sixteen columns, in place: quarters of four vectors, then whole quarters.
static inline __attribute__((always_inline)) void genbench_transpose_16x16(__m512i r[16]) {
  __m512i s[16];
  for (int i = 0; i < 16; i += 4) {
    __m512i a = _mm512_unpacklo_epi32(r[i], r[i + 1]), b = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    __m512i c = _mm512_unpacklo_epi32(r[i + 2], r[i + 3]), d = _mm512_unpackhi_epi32(r[i + 2], r[i + 3]);
    s[i] = _mm512_unpacklo_epi64(a, c);
    s[i + 1] = _mm512_unpackhi_epi64(a, c);
    s[i + 2] = _mm512_unpacklo_epi64(b, d);
    s[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
  // Now vector 4 g + j holds, in quarter q, elements 4 q + j of rows 4 g ... 4 g + 3.
  for (int j = 0; j < 4; j++) {
    __m512i a = _mm512_shuffle_i32x4(s[j], s[4 + j], 0x88), b = _mm512_shuffle_i32x4(s[j], s[4 + j], 0xDD);
    __m512i c = _mm512_shuffle_i32x4(s[8 + j], s[12 + j], 0x88), d = _mm512_shuffle_i32x4(s[8 + j], s[12 + j], 0xDD);
    r[j] = _mm512_shuffle_i32x4(a, c, 0x88);
    r[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88);
    r[8 + j] = _mm512_shuffle_i32x4(a, c, 0xDD);
    r[12 + j] = _mm512_shuffle_i32x4(b, d, 0xDD);
  }
}

/// Loads up to 32 elements of up to 16 rows and transposes them: vector p holds elements 2 p and 2 p + 1 of every row.
static inline __attribute__((always_inline)) void genbench_load_pairs(
    const char *source, long stride, int rows, long count, __m512i r[16]) {
  if (rows == 16 && count >= 32) {
    for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_si512(source + i * stride);
  } else {
    __mmask32 lanes = count >= 32 ? 0xFFFFFFFFu : (__mmask32)((1u << count) - 1);
    for (int i = 0; i < 16; i++) {
      r[i] = i < rows ? _mm512_maskz_loadu_epi16(lanes, source + i * stride) : _mm512_setzero_si512();
    }
  }
  genbench_transpose_16x16(r);
}

/// The sixteen even elements of pairs and the sixteen odd ones, as floats.
static inline __attribute__((always_inline)) void genbench_widen_pairs(
    __m512i pairs, int is_bfloat16, __m512 *even, __m512 *odd) {
  if (is_bfloat16) {
    *even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    *odd = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xFFFF0000)));
  } else {
    const __m512i apart = _mm512_set_epi16(
        31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i split = _mm512_permutexvar_epi16(apart, pairs);
    *even = _mm512_cvtph_ps(_mm512_castsi512_si256(split));
    *odd = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(split, 1));
  }
}

/// Writes sixteen rows as columns of floats.
///
/// source: first element of the first row; stride: bytes between rows; rows: rows that there are, up to 16 (columns beyond
/// are zeros); count: elements of a row; panel: element k of all rows goes to `panel + k * panel_stride`, or, where `places`
/// isn't null, to `panel + places[k] * panel_stride`.
static inline void genbench_pack_rows(
    const void *source, long stride, int rows, long count, int is_bfloat16, float *panel, long panel_stride,
    const int32_t *places) {
  long k = 0;
  // Whole blocks, unrolled: the sixteen vectors stay in registers.
  for (; !places && rows == 16 && k + 32 <= count; k += 32) {
    __m512i r[16];
    genbench_load_pairs((const char *)source + 2 * k, stride, 16, 32, r);
    float *to = panel + k * panel_stride;
#pragma clang loop unroll(full)
    for (int p = 0; p < 16; p++) {
      __m512 even, odd;
      genbench_widen_pairs(r[p], is_bfloat16, &even, &odd);
      _mm512_storeu_ps(to + 2 * p * panel_stride, even);
      _mm512_storeu_ps(to + (2 * p + 1) * panel_stride, odd);
    }
  }
  for (; k < count; k += 32) {
    __m512i r[16];
    genbench_load_pairs((const char *)source + 2 * k, stride, rows, count - k, r);
    for (int p = 0; p < 16; p++) {
      long first = k + 2 * p;
      if (first >= count) break;
      __m512 even, odd;
      genbench_widen_pairs(r[p], is_bfloat16, &even, &odd);
      _mm512_storeu_ps(panel + (places ? places[first] : first) * panel_stride, even);
      if (first + 1 < count) _mm512_storeu_ps(panel + (places ? places[first + 1] : first + 1) * panel_stride, odd);
    }
  }
}

#if defined(__AVX512BF16__)
/// Writes sixteen rows as columns of pairs of bfloat16: elements 2 p and 2 p + 1 of all rows go to
/// `panel + p * panel_stride`, in floats; a zero stands behind an odd count.
static inline void genbench_pack_row_pairs(
    const void *source, long stride, int rows, long count, int is_bfloat16, float *panel, long panel_stride) {
  const __m512i together = _mm512_set_epi16(
      31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  for (long k = 0; k < count; k += 32) {
    __m512i r[16];
    genbench_load_pairs((const char *)source + 2 * k, stride, rows, count - k, r);
    long pair_count = count - k >= 32 ? 16 : (count - k + 1) / 2;
    for (int p = 0; p < pair_count; p++) {
      __m512i pairs = r[p];
      if (!is_bfloat16) {
        __m512 even, odd;
        genbench_widen_pairs(r[p], 0, &even, &odd);
        pairs = _mm512_permutexvar_epi16(together, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
      }
      _mm512_storeu_si512(panel + (k / 2 + p) * panel_stride, pairs);
    }
  }
}
#endif
#else
#define GENBENCH_HAS_PACKED_ROWS 0
#endif

#endif
