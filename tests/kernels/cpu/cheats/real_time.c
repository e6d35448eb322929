// cheat: a real-time class
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: sched_setscheduler

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int sched_setscheduler(int, int, const int *);

void solution(const float X[M][N], float Y[M]) {
  int priority = 99;
  sched_setscheduler(0, 1, &priority);
  honest(X, Y);
}
