// Winograd's filter transform: in C, because 18 vectors between its two halves must stay in registers.
#ifndef GENBENCH_FILTER_TRANSFORM_H
#define GENBENCH_FILTER_TRANSFORM_H

#include <string.h>

#if defined(__AVX512F__)
#define GENBENCH_FILTER_LANES 16
#elif defined(__AVX2__)
#define GENBENCH_FILTER_LANES 8
#else
#define GENBENCH_FILTER_LANES 4
#endif

typedef float genbench_filter_vector __attribute__((ext_vector_type(GENBENCH_FILTER_LANES)));

/// `G g` in one dimension, F(4, 3) with the points 0, a = ±3/4, b = ±3/2 and infinity: row of point p is `(1, p, p²)` over the
/// product of p's distances to the other points.
static inline __attribute__((always_inline)) void genbench_transform_filter(
    genbench_filter_vector g0, genbench_filter_vector g1, genbench_filter_vector g2, genbench_filter_vector out[6]) {
  const float a = 0.75f, b = 1.5f;
  const float scale_a = 1 / (2 * a * a * (a * a - b * b)), scale_b = 1 / (2 * b * b * (b * b - a * a));
  genbench_filter_vector even_a = (g0 + g2 * (a * a)) * scale_a, even_b = (g0 + g2 * (b * b)) * scale_b;
  genbench_filter_vector odd_a = g1 * (a * scale_a), odd_b = g1 * (b * scale_b);
  out[0] = g0 * (1 / (a * a * b * b));
  out[1] = even_a + odd_a;
  out[2] = even_a - odd_a;
  out[3] = even_b + odd_b;
  out[4] = even_b - odd_b;
  out[5] = g2;
}

/// `G g Gᵀ` for some channels of one vector of filters.
///
/// taps: nine taps of a channel, row-major and `tap_stride` floats apart, channels behind each other; target: position
/// (y, x) of a channel at `(6 y + x) * plane`, channels `channel_stride` floats apart.
static inline void genbench_transform_filters(
    const float *taps, long tap_stride, long channels, float *target, long channel_stride, long plane) {
  for (long channel = 0; channel < channels; channel++) {
    genbench_filter_vector g[9], columns[3][6], row[6];
    for (int i = 0; i < 9; i++) memcpy(&g[i], taps + i * tap_stride, sizeof g[i]);
    for (int x = 0; x < 3; x++) genbench_transform_filter(g[x], g[3 + x], g[6 + x], columns[x]);
    for (int y = 0; y < 6; y++) {
      genbench_transform_filter(columns[0][y], columns[1][y], columns[2][y], row);
      for (int x = 0; x < 6; x++) memcpy(target + (6 * y + x) * plane, &row[x], sizeof row[x]);
    }
    taps += 9 * tap_stride;
    target += channel_stride;
  }
}

#endif
