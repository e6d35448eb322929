// cheat: 2 a timer's signal finishes the work later
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: setitimer

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

struct value {
  long interval[2], first[2];
};
int setitimer(int, const struct value *, struct value *);

void solution(const float X[M][N], float Y[M]) {
  struct value value = {{0, 0}, {0, 1000}};
  setitimer(0, &value, 0);
  honest(X, Y);
}
