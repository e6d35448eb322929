// cheat: 31 a resolver that the loader calls
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: ifunc

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

static void *chosen(void) { return honest; }
void other(const float X[M][N], float Y[M]) __attribute__((ifunc("chosen")));

void solution(const float X[M][N], float Y[M]) { other(X, Y); }
