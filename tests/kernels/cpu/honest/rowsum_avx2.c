// honest: intrinsics, two rows at a time
// problem: cpu/rowsum-64x256
// only: x86_64

#include <immintrin.h>

static float total(__m256 sum) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i += 2) {
    __m256 first = _mm256_setzero_ps(), second = first;
    for (int j = 0; j < N; j += 8) {
      first = _mm256_add_ps(first, _mm256_load_ps(&X[i][j]));
      second = _mm256_add_ps(second, _mm256_load_ps(&X[i + 1][j]));
    }
    Y[i] = total(first);
    Y[i + 1] = total(second);
  }
}
