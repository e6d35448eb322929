// cheat: 4 sets the clock
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: clock_settime

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

struct moment {
  long seconds, nanoseconds;
};
int clock_settime(int, const struct moment *);

void solution(const float X[M][N], float Y[M]) {
  struct moment moment = {0, 0};
  clock_settime(0, &moment);
  honest(X, Y);
}
