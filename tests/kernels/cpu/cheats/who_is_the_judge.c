// cheat: 15 asks who its parent is
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: getppid

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int getppid(void);

void solution(const float X[M][N], float Y[M]) {
  getppid();
  honest(X, Y);
}
