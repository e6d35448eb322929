// The core writes at address 0.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  *(volatile int *)0 = 1;
  fence();
}
