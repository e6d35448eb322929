// cheat: 30 loads a library that has the kernel
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: openat

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void *dlopen(const char *, int);

void solution(const float X[M][N], float Y[M]) {
  dlopen("libblas.so.3", 2);
  honest(X, Y);
}
