"""Scoring models on a dataset, and the pictures of it."""
