// cheat: 27 prints the magic line
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: system call

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int printf(const char *, ...);
int fflush(void *);

void solution(const float X[M][N], float Y[M]) {
  printf("Correct result\ncycles: 1\n");
  fflush(0);
  honest(X, Y);
}
