// cheat: 31 leaves the work to a function that runs at exit
// problem: cpu/rowsum-64x256
// verdict: compile_error
// says: __dso_handle

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int atexit(void (*)(void));

static const void *source;
static void *target;

static void later(void) { honest(source, target); }

void solution(const float X[M][N], float Y[M]) {
  source = X;
  target = Y;
  atexit(later);
}
