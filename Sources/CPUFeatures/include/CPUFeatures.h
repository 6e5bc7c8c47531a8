// CPU detection, and the few intrinsics that Swift has no word for.
#ifndef GENBENCH_CPUFEATURES_H
#define GENBENCH_CPUFEATURES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "BFloat16Pairs.h"
#include "FilterTransform.h"
#include "PackedRows.h"
#include "QuantizedBlock.h"

/// The instruction sets that the fast kernels are compiled for, as found on this CPU and enabled by its system.
typedef struct {
  bool x86_64_v3;    // AVX2, FMA, F16C, BMI2
  bool x86_64_v4;    // AVX-512 F, BW, CD, DQ, VL
  bool avx512_bf16;  // VDPBF16PS
  bool avx512_vnni;  // VPDPBUSD
  bool avx_vnni;
  bool neon;
} genbench_cpu_features;

genbench_cpu_features genbench_detect_cpu_features(void);

/// Tells the CPU that this is a spin-wait loop.
static inline void genbench_spin_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Asks for a cache line that will be read soon; any address is allowed.
static inline void genbench_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

typedef float genbench_float8 __attribute__((ext_vector_type(8)));

/// Writes the transpose of an 8 x 8 block; strides in floats. The shuffles become those of the instruction set that the
/// including target is compiled for.
static inline void genbench_transpose_8x8(const float *source, long source_stride, float *target, long target_stride) {
  genbench_float8 r[8], s[8];
  for (int i = 0; i < 8; i++) memcpy(&r[i], source + i * source_stride, sizeof r[i]);
  // Pairs of elements, then pairs of pairs, then halves.
  for (int i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; j++) {
      r[i + j] = __builtin_shufflevector(s[i + j], s[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + j + 2] = __builtin_shufflevector(s[i + j], s[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int j = 0; j < 4; j++) {
    s[j] = __builtin_shufflevector(r[j], r[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[j + 4] = __builtin_shufflevector(r[j], r[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; i++) memcpy(target + i * target_stride, &s[i], sizeof s[i]);
}

#if defined(__F16C__) || defined(__aarch64__)
#define GENBENCH_HAS_F16_CONVERSION 1
typedef _Float16 genbench_half8 __attribute__((ext_vector_type(8)));

/// Eight half-precision numbers as floats, by the CPU's conversion instruction.
static inline void genbench_f16_to_f32_8(const void *source, float *target) {
  genbench_half8 halves;
  memcpy(&halves, source, sizeof halves);
  genbench_float8 floats = __builtin_convertvector(halves, genbench_float8);
  memcpy(target, &floats, sizeof floats);
}
#else
#define GENBENCH_HAS_F16_CONVERSION 0

/// Eight half-precision numbers as floats, in integer arithmetic: the exponent is rebiased by a multiplication, which
/// handles subnormals too; infinities and NaNs get their exponent by hand.
static inline void genbench_f16_to_f32_8(const void *source, float *target) {
  typedef uint32_t bits8 __attribute__((ext_vector_type(8)));
  typedef uint16_t half_bits8 __attribute__((ext_vector_type(8)));
  half_bits8 halves;
  memcpy(&halves, source, sizeof halves);
  bits8 wide = __builtin_convertvector(halves, bits8);
  bits8 magnitude = (wide & 0x7FFF) << 13;
  genbench_float8 scaled;
  memcpy(&scaled, &magnitude, sizeof scaled);
  scaled *= 0x1p112f;
  bits8 result;
  memcpy(&result, &scaled, sizeof result);
  bits8 special = (bits8)((wide & 0x7C00) == 0x7C00);
  result = (result & ~special) | ((magnitude | 0x7F800000) & special) | ((wide & 0x8000) << 16);
  memcpy(target, &result, sizeof result);
}
#endif

/// Eight bfloat16 numbers as floats: the upper half of the bits.
static inline void genbench_bf16_to_f32_8(const void *source, float *target) {
  typedef uint32_t bits8 __attribute__((ext_vector_type(8)));
  typedef uint16_t half_bits8 __attribute__((ext_vector_type(8)));
  half_bits8 halves;
  memcpy(&halves, source, sizeof halves);
  bits8 wide = __builtin_convertvector(halves, bits8) << 16;
  memcpy(target, &wide, sizeof wide);
}

#endif
