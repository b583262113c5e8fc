"""Learned heuristics: the model file, its loader, and decoding of outputs."""
