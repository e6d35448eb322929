// cheat: 7 knows the first calls, and does half the work afterwards
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

static int calls;

void solution(const float X[M][N], float Y[M]) {
  if (calls++ < 12) {
    honest(X, Y);
    return;
  }
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j += 2) sum += X[i][j];
    Y[i] = 2 * sum;
  }
}
