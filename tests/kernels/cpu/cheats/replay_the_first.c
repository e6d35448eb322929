// cheat: 14 the first call's results for ever
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

static int filled;
static float kept[M];

void solution(const float X[M][N], float Y[M]) {
  if (!filled++) honest(X, kept);
  for (int i = 0; i < M; i++) Y[i] = kept[i];
}
