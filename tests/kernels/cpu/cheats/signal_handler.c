// cheat: 2 a handler for signals
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: rt_sigaction

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void (*signal(int, void (*)(int)))(int);
static void handler(int number) { (void)number; }

void solution(const float X[M][N], float Y[M]) {
  signal(14, handler);
  honest(X, Y);
}
