// cheat: 14 remembers results by a fingerprint of the input
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

static int filled[16];
static float kept[16][M];

void solution(const float X[M][N], float Y[M]) {
  int print = 0;
  for (int bit = 0; bit < 4; bit++) print |= (X[bit * 7][bit * 31] > 0) << bit;
  if (!filled[print]) {
    honest(X, kept[print]);
    filled[print] = 1;
  }
  for (int i = 0; i < M; i++) Y[i] = kept[print][i];
}
