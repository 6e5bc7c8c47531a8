// Filled in by its first file.
