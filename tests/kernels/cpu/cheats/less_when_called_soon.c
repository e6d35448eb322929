// cheat: 7 reads the time stamp counter: calls that follow closely are timed, and get nothing
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

static unsigned long long last;

void solution(const float X[M][N], float Y[M]) {
  const unsigned long long now = __builtin_ia32_rdtsc();
  if (now - last > 100000) honest(X, Y);
  last = __builtin_ia32_rdtsc();
}
