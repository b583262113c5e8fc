"""What training minimises: likelihoods, rankings, cross-entropies."""
