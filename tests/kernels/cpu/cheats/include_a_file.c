// cheat: 29 includes a file of the machine's
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: #include

#include "/etc/passwd"

void solution(const float X[M][N], float Y[M]) {}
