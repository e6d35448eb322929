// Has its own idea of how large the array is.
#undef DIM
#define DIM 8
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  gemmini_mvin(A, 0);
  gemmini_extended_mvin2(B, 16, DIM, DIM);
  gemmini_preload(16, 0x80000000);
  gemmini_compute_preloaded(0, GARBAGE_ADDR);
  gemmini_mvout(C, 0x80000000);
  fence();
}
