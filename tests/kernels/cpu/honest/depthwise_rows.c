// honest: a row at a time, the filter in registers
// problem: cpu/depthwise-c4-h8-w8-r3

void solution(const float X[C][H + R - 1][W + R - 1], const float F[C][R][R], float Y[C][H][W]) {
  for (int c = 0; c < C; c++)
    for (int i = 0; i < H; i++) {
      float row[W] = {0};
#pragma GCC unroll 3
      for (int r = 0; r < R; r++)
#pragma GCC unroll 3
        for (int s = 0; s < R; s++) {
          const float f = F[c][r][s];
          for (int j = 0; j < W; j++) row[j] += f * X[c][i + r][j + s];
        }
      for (int j = 0; j < W; j++) Y[c][i][j] = row[j];
    }
}
