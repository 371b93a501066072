"""The export check: a new process loads the written file and answers stored samples with it."""
