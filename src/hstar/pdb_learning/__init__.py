"""Learning pattern databases: a residual network on one-hot states, trained towards integers.

Training draws states of the whole space on the device, first in floating point with batch
normalisation, then with the rounding of the integer network that search will use.
"""
