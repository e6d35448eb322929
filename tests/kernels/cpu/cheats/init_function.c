// cheat: 31 a function that the loader calls by its name
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: before `solution`

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void _init(void) {}

void solution(const float X[M][N], float Y[M]) { honest(X, Y); }
