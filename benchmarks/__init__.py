"""Measurements of speed, memory and error; `make bench` runs them all."""
