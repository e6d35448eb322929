// cheat: 13 lays memory of its own over the output
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void *mmap(void *, unsigned long, int, int, int, long);

void solution(const float X[M][N], float Y[M]) {
  char *page = (char *)((unsigned long)Y & ~4095ul);
  mmap(page, 8192, 3, 0x32, -1, 0);
  honest(X, Y);
}
