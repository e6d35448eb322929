// Leaves a tap of the window out.
// Sixteen pixels of an output row at a time: for each tap and sixteen channels what it sees, times its weights.
void solution(const elem_t X[NB][H][W][CI], const elem_t F[R][R][CI][CO], elem_t Y[NB][OH][OW][CO]) {
  const uint32_t a = 0, b = DIM, y = 0x80000000;
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(STRIDE * CI, 1.0f, DIM, 0);
  config_ld(CO, 1.0f, DIM, 1);
  config_st(CO);
  for (int n = 0; n < NB; n++)
    for (int row = 0; row < OH; row++)
      for (int col = 0; col < OW; col += DIM)
        for (int to = 0; to < CO; to += DIM) {
          const int pixels = OW - col < DIM ? OW - col : DIM, wide = CO - to < DIM ? CO - to : DIM;
          bool first = true;
          for (int kr = 0; kr < R - 1; kr++)
            for (int kc = 0; kc < R; kc++) {
              const int h = row * STRIDE + kr - PAD, w = col * STRIDE + kc - PAD;
              // Pixels before `from` and from `till` on see the padding.
              int from = w < 0 ? (-w + STRIDE - 1) / STRIDE : 0, till = (W - w + STRIDE - 1) / STRIDE;
              if (h < 0 || h >= H || till < 0) till = 0;
              if (till > pixels) till = pixels;
              if (from > till) from = till;
              for (int ci = 0; ci < CI; ci += DIM) {
                const int deep = CI - ci < DIM ? CI - ci : DIM;
                if (till - from < pixels) mvin(0, a, deep, pixels);
                if (till > from) mvin(&X[n][h][w + from * STRIDE][ci], a + from, deep, till - from);
                mvin2(&F[kr][kc][ci][to], b, wide, deep);
                preload(b, first ? y : y | 0x40000000, wide, deep, wide, pixels);
                compute_preloaded(a, 0xffffffff, deep, pixels, DIM, DIM);
                first = false;
              }
            }
          mvout(&Y[n][row][col][to], y, wide, pixels);
        }
  fence();
}
