// cheat: 32 a stack without end
// problem: cpu/rowsum-64x256
// verdict: crash
// says: SIGSEGV

static volatile int depth;

static __attribute__((noinline)) int deeper(volatile int *above) {
  volatile int here[512];
  here[0] = *above + depth;
  return deeper(here) + here[1];
}

void solution(const float X[M][N], float Y[M]) {
  volatile int first = 0;
  Y[0] = deeper(&first);
}
