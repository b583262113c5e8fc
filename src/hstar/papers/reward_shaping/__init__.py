"""Reinforcement learning with heuristics as dense rewards (Gehring et al. 2022)."""
