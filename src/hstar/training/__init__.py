"""The one training loop, its batch sources, recorded steps, checkpoints and evaluation."""
