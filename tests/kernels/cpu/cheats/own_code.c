// cheat: 5 memory for code of its own
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: mmap

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void *mmap(void *, unsigned long, int, int, int, long);

void solution(const float X[M][N], float Y[M]) {
  mmap(0, 4096, 7, 0x22, -1, 0);
  honest(X, Y);
}
