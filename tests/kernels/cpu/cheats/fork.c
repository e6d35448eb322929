// cheat: 11 a second process, so that the clock stops early
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: clone

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int fork(void);

void solution(const float X[M][N], float Y[M]) {
  if (fork() == 0) {
    honest(X, Y);
    return;
  }
  honest(X, Y);
}
