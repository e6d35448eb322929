// honest: gathers by intrinsics, a scalar rest
// problem: cpu/spmv-csr-64x64-d8
// only: x86_64

#include <immintrin.h>

void solution(const int ROW[M + 1], const int COL[NNZ], const float VAL[NNZ], const float X[N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    __m256 sums = _mm256_setzero_ps();
    int e = ROW[i];
    for (; e + 8 <= ROW[i + 1]; e += 8) {
      const __m256i columns = _mm256_loadu_si256((const __m256i *)&COL[e]);
      sums = _mm256_fmadd_ps(_mm256_loadu_ps(&VAL[e]), _mm256_i32gather_ps(X, columns, 4), sums);
    }
    float parts[8], sum = 0;
    _mm256_storeu_ps(parts, sums);
    for (int k = 0; k < 8; k++) sum += parts[k];
    for (; e < ROW[i + 1]; e++) sum += VAL[e] * X[COL[e]];
    Y[i] = sum;
  }
}
