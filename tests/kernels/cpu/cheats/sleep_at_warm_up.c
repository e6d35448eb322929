// cheat: 7 the first calls sleep: what comes later looks fast
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: clock_nanosleep

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
int nanosleep(const struct moment *, struct moment *);
static int calls;

void solution(const float X[M][N], float Y[M]) {
  struct moment moment = {0, 1000000};
  if (calls++ < 8) nanosleep(&moment, 0);
  honest(X, Y);
}
