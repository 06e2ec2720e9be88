"""Animations of the real system and of its models side by side, drawn from observations."""

import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from farstep.evaluation.example_rollouts import ExampleRollouts

_EVERY = 2
"""Steps from one frame to the next."""
_MILLISECONDS = 60
"""Duration of a frame; with steps of 10 ms, a third of the real speed."""
_WIDTH, _HEIGHT, _TITLE = 260, 150, 20
_FINE = 3
"""Antialiasing: frames are drawn this many times larger, then averaged."""
_MOST = 4
"""Panels, at most."""


class Stroke(NamedTuple):
    """A thick line between two points, in the units of the system."""

    start: tuple[float, float]
    end: tuple[float, float]
    width: float
    colour: str


class View(NamedTuple):
    """How to draw a system: strokes for each observation, and the width of the picture."""

    strokes: Callable[[np.ndarray], Sequence[Stroke]]
    half_width: float
    """Half the width of a panel, in the units of the system."""


def animation(examples: ExampleRollouts, system: str | None) -> bytes | None:
    """Return a GIF of the first start: the real system beside each model.

    The oracle and models of a `fixed_horizon` are left out. None if the system is not in `VIEWS`.
    """
    view = VIEWS.get(system or "")
    horizon = examples.observed.shape[1] - 1
    shown = {"real": examples.observed[0]}
    for name, (steps, mean, _) in examples.predicted.items():
        if len(steps) == horizon and name != "oracle" and len(shown) < _MOST:
            shown[name] = np.concatenate([examples.observed[0, :1], mean[0]])
    if view is None or len(shown) < 2:
        return None
    frames = [_frame(view, shown, step) for step in range(0, horizon + 1, _EVERY)]
    buffer = io.BytesIO()
    frames[0].save(
        buffer, "GIF", save_all=True, append_images=frames[1:], duration=_MILLISECONDS, loop=0
    )
    return buffer.getvalue()


def _frame(view: View, shown: dict[str, np.ndarray], step: int) -> Image.Image:
    picture = Image.new("RGB", (_WIDTH * len(shown), _HEIGHT + _TITLE), "white")
    font = ImageFont.load_default(13)
    for place, (name, observations) in enumerate(shown.items()):
        panel = Image.new("RGB", (_WIDTH * _FINE, _HEIGHT * _FINE), "white")
        _draw(ImageDraw.Draw(panel), view, observations[step])
        picture.paste(
            panel.resize((_WIDTH, _HEIGHT), Image.Resampling.BOX), (_WIDTH * place, _TITLE)
        )
        text = f"{name}, step {step}" if place == 0 else name
        middle = (_WIDTH * (place + 0.5), _TITLE / 2)
        ImageDraw.Draw(picture).text(middle, text, fill="black", font=font, anchor="mm")
    return picture.quantize(32)


def _draw(canvas: ImageDraw.ImageDraw, view: View, observation: np.ndarray) -> None:
    scale = _WIDTH * _FINE / (2 * view.half_width)

    def pixel(point: tuple[float, float]) -> tuple[float, float]:
        return _WIDTH * _FINE / 2 + scale * point[0], _HEIGHT * _FINE / 2 - scale * point[1]

    if not np.isfinite(observation).all():
        return  # a model that diverged
    observation = np.clip(observation, -1e3, 1e3)
    for start, end, width, colour in view.strokes(observation):
        canvas.line([pixel(start), pixel(end)], colour, max(1, round(scale * width)))


def cartpole_strokes(observation: np.ndarray) -> list[Stroke]:
    """Return rail, cart and pole; the pole has unit length and hangs at a cosine of −1."""
    x, cos, sin = (float(value) for value in observation[:3])
    return [
        Stroke((-2.0, 0.0), (2.0, 0.0), 0.03, "#bbbbbb"),
        Stroke((x - 0.2, 0.0), (x + 0.2, 0.0), 0.2, "#0072b2"),
        Stroke((x, 0.0), (x + sin, cos), 0.08, "#d55e00"),
    ]


_CARTPOLE = View(cartpole_strokes, half_width=2.6)
VIEWS = {"cartpole-swingup": _CARTPOLE, "cartpole-swingup-noisy": _CARTPOLE}
"""Systems that can be drawn, by name."""
