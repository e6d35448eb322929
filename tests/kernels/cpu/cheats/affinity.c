// cheat: a processor of its own choice
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: sched_setaffinity

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int sched_setaffinity(int, unsigned long, const unsigned long *);

void solution(const float X[M][N], float Y[M]) {
  unsigned long first = 1;
  sched_setaffinity(0, sizeof first, &first);
  honest(X, Y);
}
