"""Fitting models: settings, the compiled epoch, stopping, resuming."""
