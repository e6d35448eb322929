// cheat: 18 half of the mantissa is dropped
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[

static float rounded(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, 4);
  bits = (bits + 0x8000) & 0xffff0000;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += rounded(X[i][j]);
    Y[i] = sum;
  }
}
