"""Write the log of a simulated machine: two water tanks, noisy sensors, a logger that fails.

A pump fills the upper tank, which drains into the lower one, which drains away. By Torricelli's law
water leaves a hole at the speed √(2 g h), so

    A₁ dh₁/dt = k u − a₁ √(2 g h₁),    A₂ dh₂/dt = a₁ √(2 g h₁) − a₂ √(2 g h₂).

Run it to write `tanks.csv`: a time stamp every two seconds, the levels in cm with a sensor noise of
1 mm, and the pump's voltage. Now and then the logger is off for a while.
"""

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

INTERVAL, GRAVITY = 2.0, 981.0
"""Seconds between two rows; cm/s²."""
AREAS, HOLES, PUMP = (15.5, 15.5), (0.18, 0.20), 3.3
"""Of the tanks and of their holes, in cm², and cm³/s of the pump for each volt."""
HIGHEST, NOISE = 30.0, 0.1
"""cm: where a tank overflows, and the deviation of the sensor."""


def step(levels: np.ndarray, voltage: float, parts: int = 20) -> np.ndarray:
    """Return both levels one interval later."""
    for _ in range(parts):
        out = np.array(HOLES) * np.sqrt(2 * GRAVITY * np.maximum(levels, 0.0))
        change = np.array([PUMP * voltage - out[0], out[0] - out[1]]) / AREAS
        levels = np.clip(levels + change * INTERVAL / parts, 0.0, HIGHEST)
    return levels


def log(hours: float = 8.0, seed: int = 0) -> list[tuple[str, float, float, float]]:
    """Return rows of time, two levels and the voltage that is held until the next row."""
    rng = np.random.default_rng(seed)
    now = datetime(2024, 5, 6, 8, tzinfo=UTC)
    levels, voltage, rows = np.array([8.0, 6.0]), 6.0, []
    off_until = now
    for _ in range(int(hours * 3600 / INTERVAL)):
        if rng.random() < 1 / 30:  # the operator turns the knob about once a minute
            voltage = round(float(rng.uniform(0.0, 12.0)), 2)
        if rng.random() < 1 / 700:  # the logger is off for up to five minutes
            off_until = now + timedelta(seconds=float(rng.uniform(10, 300)))
        if now >= off_until:
            seen = np.round(levels + rng.normal(0.0, NOISE, 2), 2)
            rows.append((now.isoformat(), float(seen[0]), float(seen[1]), voltage))
        levels = step(levels, voltage)
        now += timedelta(seconds=INTERVAL)
    return rows


def main(path: str | Path = "tanks.csv", hours: float = 8.0) -> None:
    """Write the log."""
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "upper", "lower", "pump"])
        writer.writerows(log(hours))


if __name__ == "__main__":
    main()
