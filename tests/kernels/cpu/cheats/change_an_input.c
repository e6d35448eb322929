// cheat: 17 changes one bit of an input
// problem: cpu/rowsum-64x256
// verdict: input_changed
// says: X

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void solution(const float X[M][N], float Y[M]) {
  ((unsigned *)X)[M * N - 1] ^= 1;
  honest(X, Y);
}
