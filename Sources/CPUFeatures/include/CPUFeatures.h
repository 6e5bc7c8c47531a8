// CPU detection, and the few intrinsics that Swift has no word for.
#ifndef GENBENCH_CPUFEATURES_H
#define GENBENCH_CPUFEATURES_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
