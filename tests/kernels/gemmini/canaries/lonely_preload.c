// A preload whose compute never comes.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  mvin(A, 0, 16, 16);
  mvin2(B, 16, 16, 16);
  preload(16, 0x80000000, 16, 16, 16, 16);
  preload(GARBAGE_ADDR, 0x80000000, 16, 16, 16, 16);
  fence();
  fence();
}
