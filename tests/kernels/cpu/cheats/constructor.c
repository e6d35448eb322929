// cheat: 31 a function that runs before
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: constructor

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

static __attribute__((constructor)) void before(void) {}

void solution(const float X[M][N], float Y[M]) { honest(X, Y); }
