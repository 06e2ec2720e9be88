"""Loops: model, agent and evaluation on the real system, one after the other."""
