"""Distributions over the cost-to-go: likelihoods to learn from, means to search with."""

from hstar.slots.objectives.distributions.truncated import TruncatedNormal

__all__ = ["TruncatedNormal"]
