"""Workflows: from data to a result, with seeds and worker processes."""
