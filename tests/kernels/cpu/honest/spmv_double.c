// honest: sums in double
// problem: cpu/spmv-csr-64x64-d8

void solution(const int *ROW, const int *COL, const float *VAL, const float *X, float *Y) {
  for (int i = 0; i < M; i++) {
    double sum = 0;
    const int *column = COL + ROW[i];
    for (const float *value = VAL + ROW[i], *end = VAL + ROW[i + 1]; value < end;) sum += (double)*value++ * X[*column++];
    Y[i] = (float)sum;
  }
}
