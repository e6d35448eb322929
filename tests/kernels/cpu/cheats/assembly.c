// cheat: 29 assembly
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: asm

void solution(const float X[M][N], float Y[M]) { __asm__ volatile(".incbin \"/etc/passwd\""); }
