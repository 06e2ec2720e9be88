"""How is a model used as a simulator? ModelEnv: pure functions, Gymnasium, Stable-Baselines3."""
