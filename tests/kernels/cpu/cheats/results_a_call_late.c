// cheat: 3 the results of a call are made in the next one
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

static const void *source;
static void *target;

void solution(const float X[M][N], float Y[M]) {
  if (target) honest(source, target);
  source = X;
  target = Y;
}
