// cheat: 5 makes the harness's code writable
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: mprotect

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int mprotect(void *, unsigned long, int);

void solution(const float X[M][N], float Y[M]) {
  mprotect((void *)((unsigned long)__builtin_return_address(0) & ~4095ul), 4096, 7);
  honest(X, Y);
}
