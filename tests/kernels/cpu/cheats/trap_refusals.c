// cheat: 24 handles the signal of refused calls itself
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

struct action {
  void (*handler)(int);
  unsigned long rest[32];
};
int sigaction(int, const struct action *, struct action *);
static void handler(int number) { (void)number; }

void solution(const float X[M][N], float Y[M]) {
  struct action action = {handler};
  sigaction(31, &action, 0);
  honest(X, Y);
}
