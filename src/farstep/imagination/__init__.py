"""Imagination: the learned model as an environment, pure and behind thin adapters."""
