"""Certified learning: no state at all is overestimated.

A network in integers reads a state. A table of exceptions lowers the few states it overestimates. A
sweep over every state shows that none is left, and the certificate in the file records this.
"""
