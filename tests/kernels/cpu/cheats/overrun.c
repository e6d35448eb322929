// cheat: 20 writes beyond the output
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: beyond Y

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void solution(const float X[M][N], float Y[M]) {
  honest(X, Y);
  ((volatile float *)Y)[M] = 0;
}
