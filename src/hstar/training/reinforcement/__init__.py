"""Reinforcement learning: planning as a decision process, whose rewards a heuristic makes dense."""
