"""Agents: SAC compiled with the imagined system, and Stable-Baselines3 through an adapter."""
