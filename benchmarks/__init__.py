"""Measurements of speed, memory and accuracy; `make bench` runs them all."""
