"""Plotting: charts, animations and the HTML report."""
