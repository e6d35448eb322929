// cheat: 11 another program instead
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: execve

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

int execve(const char *, char *const *, char *const *);

void solution(const float X[M][N], float Y[M]) {
  char *arguments[] = {"/bin/true", 0};
  execve("/bin/true", arguments, arguments + 1);
  honest(X, Y);
}
