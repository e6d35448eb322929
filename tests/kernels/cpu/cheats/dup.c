// cheat: 24 puts itself between the judge and its pipe
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: dup2
// only: x86_64

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int dup2(int, int);

void solution(const float X[M][N], float Y[M]) {
  dup2(0, 1);
  honest(X, Y);
}
