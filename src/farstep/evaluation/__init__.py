"""Evaluation of models on a dataset: R² and calibration against the horizon."""
