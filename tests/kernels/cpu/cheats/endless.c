// cheat: 32 never ends
// problem: cpu/rowsum-64x256
// verdict: run_timeout
// says: most time

static volatile int stop;

void solution(const float X[M][N], float Y[M]) {
  while (!stop) {
  }
}
