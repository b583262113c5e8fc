"""What a model sees of a state: atoms, hypergraphs, relaxed plans, digits of patterns."""
