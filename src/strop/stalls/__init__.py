"""`strop diagnose`: from a profile and a binary to the instructions that stall, and what each waits for."""
