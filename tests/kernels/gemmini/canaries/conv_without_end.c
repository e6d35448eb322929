// One convolution that would run for hours.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  gemmini_loop_conv_ws(9999, 9999, 9999, 999, 999, 9999, 9999, 9999, 9999, 1, 0, 3, 1, 1, 1, 0, 9999, 9999, 9999, 999, 3, 3, 999, 0, 0, 0, 0, 0, 0, 0, 0, 9999, 9999, B, C, 0, A, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 999, 999, 999, 0, 0, 0);
  fence();
}
