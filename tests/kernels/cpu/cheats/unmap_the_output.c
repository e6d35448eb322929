// cheat: 13 takes the output's memory away
// problem: cpu/rowsum-64x256
// verdict: crash
// says: SIGSEGV

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int munmap(void *, unsigned long);

void solution(const float X[M][N], float Y[M]) {
  munmap((char *)((unsigned long)Y & ~4095ul), 4096);
  honest(X, Y);
}
