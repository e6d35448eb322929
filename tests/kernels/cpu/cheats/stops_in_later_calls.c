// cheat: 11 honest at first; later it ends the batch after its first call
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
static int calls;

void solution(const float X[M][N], float Y[M]) {
  honest(X, Y);
  if (++calls > 20) {
    const int self = *(int *)((char *)__builtin_thread_pointer() + 0x2d0);
    syscall(62, self, 19);
  }
}
