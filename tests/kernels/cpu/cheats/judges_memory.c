// cheat: 15 reads the judge's memory
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: process_vm_readv

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

long process_vm_readv(int, const void *, unsigned long, const void *, unsigned long, unsigned long);

void solution(const float X[M][N], float Y[M]) {
  process_vm_readv(1, 0, 0, 0, 0, 0);
  honest(X, Y);
}
