"""What flows through a function: control, operations pending on resources, definitions, memory-carried values."""
