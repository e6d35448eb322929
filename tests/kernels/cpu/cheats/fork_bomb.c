// cheat: 32 processes without end
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: clone

int fork(void);

void solution(const float X[M][N], float Y[M]) {
  for (;;) fork();
}
