"""Teachers that train a network while they label."""
