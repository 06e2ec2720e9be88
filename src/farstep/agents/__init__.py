"""Agents: SAC compiled with the model environment, SAC on a real system, Stable-Baselines3."""
