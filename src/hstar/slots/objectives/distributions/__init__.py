"""Distributions over the cost-to-go: likelihoods to learn from, means to search with."""

from hstar.slots.objectives.distributions.truncated import TruncatedNormal, open_bounds

__all__ = ["TruncatedNormal", "open_bounds"]
