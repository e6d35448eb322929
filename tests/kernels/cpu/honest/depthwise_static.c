// honest: a static scratch array, written before it is read
// problem: cpu/depthwise-c4-h8-w8-r3

static float scratch[H][W];

void solution(const float X[C][H + R - 1][W + R - 1], const float F[C][R][R], float Y[C][H][W]) {
  for (int c = 0; c < C; c++) {
    for (int i = 0; i < H; i++)
      for (int j = 0; j < W; j++) scratch[i][j] = X[c][i][j] * F[c][0][0];
    for (int at = 1; at < R * R; at++)
      for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) scratch[i][j] += X[c][i + at / R][j + at % R] * F[c][at / R][at % R];
    for (int i = 0; i < H; i++)
      for (int j = 0; j < W; j++) Y[c][i][j] = scratch[i][j];
  }
}
