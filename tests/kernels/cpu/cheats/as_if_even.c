// cheat: 23 a sparse matrix as if all rows had as many elements as the first
// problem: cpu/spmv-csr-64x64-d8
// verdict: wrong_result
// says: Y[

void solution(const int ROW[M + 1], const int COL[NNZ], const float VAL[NNZ], const float X[N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int e = i * (NNZ / M); e < (i + 1) * (NNZ / M); e++) sum += VAL[e] * X[COL[e]];
    Y[i] = sum;
  }
}
