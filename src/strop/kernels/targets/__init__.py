"""The machines that candidates are judged on, one folder each, with the same file names."""
