// cheat: 1 work on another processor, by the bare system call
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: clone
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
  if (syscall(56, 0x10f00, 0, 0, 0, 0) == 0) honest(X, Y);
}
