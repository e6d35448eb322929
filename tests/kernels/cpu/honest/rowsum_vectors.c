// honest: GCC's vector extension, eight chains
// problem: cpu/rowsum-64x256

typedef float vector __attribute__((vector_size(32), aligned(4)));

void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    vector sums[4] = {0};
    for (int j = 0; j < N; j += 32)
      for (int k = 0; k < 4; k++) sums[k] += *(const vector *)&X[i][j + 8 * k];
    vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float total = 0;
    for (int k = 0; k < 8; k++) total += sum[k];
    Y[i] = total;
  }
}
