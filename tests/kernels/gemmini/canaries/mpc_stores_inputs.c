// Lets the accelerator write over an input.
// y = A x on the array, a tile of A and a piece of x at a time; A is m by k, both multiples of DIM.
static void product(const elem_t *A, const elem_t *x, elem_t *y, int m, int k) {
  config_ld(k * sizeof(elem_t), 1.0f, DIM, 0);
  for (int i = 0; i < m; i += DIM) {
    for (int j = 0; j < k; j += DIM) {
      mvin(A + i * k + j, 0, DIM, DIM);
      mvin2(x + j, DIM, 1, DIM);
      preload(DIM, j == 0 ? 0x80000000 : 0xc0000000, 1, DIM, 1, DIM);
      compute_preloaded(0, 0xffffffff, DIM, DIM, DIM, DIM);
    }
    mvout(y + i, 0x80000000, 1, DIM);
  }
  fence();
}

static void begin(void) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(sizeof(elem_t), 1.0f, DIM, 1);
  config_st(sizeof(elem_t), 1.0f);
}

static void forward(const elem_t A[NX][NX], const elem_t B[NX][NU], const elem_t Kinf[NU][NX], const elem_t d[N][NU],
                    elem_t x[N + 1][NX], elem_t u[N][NU]) {
  static elem_t part[NX];
  for (int i = 0; i < N; i++) {
    product(&Kinf[0][0], x[i], part, NU, NX);
    for (int j = 0; j < NU; j++) u[i][j] = -part[j] - d[i][j];
    product(&A[0][0], x[i], x[i + 1], NX, NX);
    product(&B[0][0], u[i], part, NX, NU);
    for (int j = 0; j < NX; j++) x[i + 1][j] += part[j];
  }
}

void solution(const elem_t A[NX][NX], const elem_t B[NX][NU], const elem_t Kinf[NU][NX], const elem_t d[N][NU], elem_t x[N + 1][NX], elem_t u[N][NU]) {
  begin();
  config_ld(16, 1.0f, DIM, 0);
  mvin(0, 0, DIM, DIM);
  mvout((void *)Kinf, 0, 1, DIM);
  forward(A, B, Kinf, d, x, u);
}
