// cheat: 32 takes all the memory
// problem: cpu/rowsum-64x256
// verdict: crash
// says: signal

void *malloc(unsigned long);

void solution(const float X[M][N], float Y[M]) {
  for (;;) {
    volatile char *part = malloc(1 << 28);
    part[0] = 1;
  }
}
