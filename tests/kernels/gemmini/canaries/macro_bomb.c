// Makes the preprocessor write without end.
#define A0 1 + 1
#define A1 A0 A0 A0 A0 A0 A0 A0 A0
#define A2 A1 A1 A1 A1 A1 A1 A1 A1
#define A3 A2 A2 A2 A2 A2 A2 A2 A2
#define A4 A3 A3 A3 A3 A3 A3 A3 A3
#define A5 A4 A4 A4 A4 A4 A4 A4 A4
#define A6 A5 A5 A5 A5 A5 A5 A5 A5
#define A7 A6 A6 A6 A6 A6 A6 A6 A6
#define A8 A7 A7 A7 A7 A7 A7 A7 A7
int bomb = A8;
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  mvin(A, 0, 16, 16);
  mvin2(B, 16, 16, 16);
  preload(16, 0x80000000, 16, 16, 16, 16);
  compute_preloaded(0, GARBAGE_ADDR, 16, 16, 16, 16);
  mvout(C, 0x80000000, 16, 16);
  fence();
}
