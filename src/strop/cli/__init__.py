"""The command line: one file a verb; parses, calls the API, renders."""
