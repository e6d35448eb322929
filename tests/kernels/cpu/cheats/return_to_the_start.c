// cheat: 24 leaves the harness's loop
// problem: cpu/rowsum-64x256
// verdict: crash
// says: signal

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void solution(const float X[M][N], float Y[M]) {
  honest(X, Y);
  *(volatile int *)8 = 0;
}
