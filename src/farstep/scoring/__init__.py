"""How far a model can be trusted: R² against horizon, calibration, baselines and the oracle."""
