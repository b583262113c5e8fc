"""Admissible learning with cross-entropy (CEA) from pattern databases: the recipe."""
