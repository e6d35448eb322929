// Has an array of instructions for solution.
unsigned solution[2] = {0x00000513, 0x00008067};
