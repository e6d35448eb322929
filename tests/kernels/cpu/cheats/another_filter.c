// cheat: 24 a filter of its own that answers in the system's place
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: seccomp
// only: x86_64

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

long syscall(long, ...);

void solution(const float X[M][N], float Y[M]) {
  syscall(317, 1, 0, 0);
  honest(X, Y);
}
