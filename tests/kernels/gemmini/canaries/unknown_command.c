// A command that doesn't exist.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  ROCC_INSTRUCTION_RS1_RS2(3, 0, 0, 99);
  fence();
}
