// cheat: 4 reads and sets performance counters
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: perf_event_open
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
  char about[128] = {0};
  syscall(298, about, 0, -1, -1, 0);
  honest(X, Y);
}
