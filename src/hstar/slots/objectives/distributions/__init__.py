"""Distributions over the cost-to-go: likelihoods to learn from, numbers to search with."""

from hstar.slots.objectives.distributions.gaussian import Gaussian
from hstar.slots.objectives.distributions.truncated import TruncatedGaussian, open_bounds

__all__ = ["Gaussian", "TruncatedGaussian", "open_bounds"]
