// honest: sums by halves, recursive
// problem: cpu/rowsum-64x256

static float sum(const float *x, int count) {
  if (count <= 16) {
    float total = 0;
    for (int j = 0; j < count; j++) total += x[j];
    return total;
  }
  return sum(x, count / 2) + sum(x + count / 2, count - count / 2);
}

void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) Y[i] = sum(X[i], N);
}
