// cheat: 20 what lies on the stack goes into the last bits
// problem: cpu/rowsum-64x256
// verdict: nondeterministic
// says: Y differs

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

static __attribute__((noinline)) void begin(unsigned char **place) {
  unsigned char local[4096];
  *(unsigned char *volatile *)place = local;
}

void solution(const float X[M][N], float Y[M]) {
  unsigned char *left;
  begin(&left);
  const int junk = *(volatile unsigned char *)&left[100];
  honest(X, Y);
  for (int i = 0; i < M; i++) *(int *)&Y[i] ^= junk & 7;
}
