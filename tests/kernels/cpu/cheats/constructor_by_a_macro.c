// cheat: 31 a function that runs before, behind a name that is allowed
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: constructor

#define unused constructor

static __attribute__((unused)) void before(void) {}

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void solution(const float X[M][N], float Y[M]) { honest(X, Y); }
