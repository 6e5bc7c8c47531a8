// Filled in by its first type.
