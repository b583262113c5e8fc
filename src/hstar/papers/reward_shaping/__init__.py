"""Recipe of the reward-shaping paper: reinforcement learning with heuristics as dense rewards."""
