// cheat: 4 makes the time stamp counter unreadable
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: prctl

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int prctl(int, unsigned long, ...);

void solution(const float X[M][N], float Y[M]) {
  prctl(26, 2, 0, 0, 0);
  honest(X, Y);
}
