// honest: as one writes it
// problem: cpu/spmv-csr-64x64-d8

void solution(const int ROW[M + 1], const int COL[NNZ], const float VAL[NNZ], const float X[N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int e = ROW[i]; e < ROW[i + 1]; e++) sum += VAL[e] * X[COL[e]];
    Y[i] = sum;
  }
}
