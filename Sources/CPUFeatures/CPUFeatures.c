#include "CPUFeatures.h"

genbench_cpu_features genbench_detect_cpu_features(void) {
  genbench_cpu_features features = {0};
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.x86_64_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                       __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  features.x86_64_v4 = features.x86_64_v3 && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  features.avx512_bf16 = features.x86_64_v4 && __builtin_cpu_supports("avx512bf16");
  features.avx512_vnni = features.x86_64_v4 && __builtin_cpu_supports("avx512vnni");
  features.avx_vnni = features.x86_64_v3 && __builtin_cpu_supports("avxvnni");
#elif defined(__aarch64__)
  features.neon = true;
#endif
  return features;
}
