"""Training: the multi-step objective and the loop that minimises it."""
