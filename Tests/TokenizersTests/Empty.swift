// Filled in by its first test.
