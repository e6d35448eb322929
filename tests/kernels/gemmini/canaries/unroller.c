// The unroller, where it isn't allowed.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  gemmini_loop_ws(1, 1, 1, 0, 0, 0, A, B, 0, C, K, N, 0, N, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  fence();
}
