// Adds A to itself.
// Both tiles go into the accumulator, the second on top of the first.
void solution(const elem_t A[M][N], const elem_t B[M][N], elem_t C[M][N]) {
  const uint32_t sum = 0x80000000;
  gemmini_extended3_config_ld(N, 1.0f, true, 0);
  gemmini_extended3_config_ld(N, 1.0f, true, 1);
  config_st(N);
  for (int i = 0; i < M; i += DIM)
    for (int j = 0; j < N; j += DIM) {
      const int rows = M - i < DIM ? M - i : DIM, cols = N - j < DIM ? N - j : DIM;
      mvin(&A[i][j], sum, cols, rows);
      mvin2(&A[i][j], sum | 0x40000000, cols, rows);
      mvout(&C[i][j], sum, cols, rows);
    }
  fence();
}
