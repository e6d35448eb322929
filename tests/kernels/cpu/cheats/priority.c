// cheat: a higher priority
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: setpriority

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int setpriority(int, unsigned, int);

void solution(const float X[M][N], float Y[M]) {
  setpriority(0, 0, -20);
  honest(X, Y);
}
