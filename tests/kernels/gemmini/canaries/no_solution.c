// Has no solution.
void other(void) {}
