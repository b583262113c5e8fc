"""Distributions over the cost-to-go: likelihoods to learn from, numbers to search with."""

from hstar.objectives.distributions.gaussian import Gaussian
from hstar.objectives.distributions.truncated import TruncatedGaussian, open_bounds

__all__ = ["Gaussian", "TruncatedGaussian", "open_bounds"]
