// cheat: 20 writes before the input
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: before X

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void solution(const float X[M][N], float Y[M]) {
  honest(X, Y);
  ((volatile float *)X)[-1] = 0;
}
