// honest: as one writes it
// problem: cpu/depthwise-c4-h8-w8-r3

void solution(const float X[C][H + R - 1][W + R - 1], const float F[C][R][R], float Y[C][H][W]) {
  for (int c = 0; c < C; c++)
    for (int i = 0; i < H; i++)
      for (int j = 0; j < W; j++) {
        float sum = 0;
        for (int r = 0; r < R; r++)
          for (int s = 0; s < R; s++) sum += X[c][i + r][j + s] * F[c][r][s];
        Y[c][i][j] = sum;
      }
}
