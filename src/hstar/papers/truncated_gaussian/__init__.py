"""Learning with truncated Gaussians (Núñez-Molina et al. 2024): the recipe."""
