"""Real and imagined systems side by side, drawn from their states alone."""

import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from farstep.scoring.trajectories import Trajectories

_EVERY = 2
"""Steps between two pictures."""
_MILLISECONDS = 60
"""That each picture is shown; of steps of 10 ms this is a third of the real speed."""
_WIDTH, _HEIGHT, _TITLE = 260, 150, 20
_FINE = 3
"""Pixels are drawn this many times finer, then averaged."""
_MOST = 4
"""Systems side by side."""


class Stroke(NamedTuple):
    """A thick line between two points, in the units of `View`."""

    start: tuple[float, float]
    end: tuple[float, float]
    width: float
    colour: str


class View(NamedTuple):
    """How to draw a system: what is seen of a state, and how much of the world fits in."""

    strokes: Callable[[np.ndarray], Sequence[Stroke]]
    half_width: float


def animation(trajectories: Trajectories, system: str | None) -> bytes | None:
    """Return a GIF of the first start, real beside each model; None if nobody can draw the system.

    The oracle and models that skip steps are left out.
    """
    view = VIEWS.get(system or "")
    horizon = trajectories.truth.shape[1] - 1
    shown = {"real": trajectories.truth[0]}
    for name, (steps, mean, _) in trajectories.imagined.items():
        if len(steps) == horizon and name != "oracle" and len(shown) < _MOST:
            shown[name] = np.concatenate([trajectories.truth[0, :1], mean[0]])
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
    for place, (name, states) in enumerate(shown.items()):
        panel = Image.new("RGB", (_WIDTH * _FINE, _HEIGHT * _FINE), "white")
        _draw(ImageDraw.Draw(panel), view, states[step])
        picture.paste(
            panel.resize((_WIDTH, _HEIGHT), Image.Resampling.BOX), (_WIDTH * place, _TITLE)
        )
        text = f"{name}, step {step}" if place == 0 else name
        middle = (_WIDTH * (place + 0.5), _TITLE / 2)
        ImageDraw.Draw(picture).text(middle, text, fill="black", font=font, anchor="mm")
    return picture.quantize(32)


def _draw(canvas: ImageDraw.ImageDraw, view: View, state: np.ndarray) -> None:
    scale = _WIDTH * _FINE / (2 * view.half_width)

    def pixel(point: tuple[float, float]) -> tuple[float, float]:
        return _WIDTH * _FINE / 2 + scale * point[0], _HEIGHT * _FINE / 2 - scale * point[1]

    if not np.isfinite(state).all():
        return  # a model that diverges has left the picture
    state = np.clip(state, -1e3, 1e3)
    for start, end, width, colour in view.strokes(state):
        canvas.line([pixel(start), pixel(end)], colour, max(1, round(scale * width)))


def cartpole_strokes(state: np.ndarray) -> list[Stroke]:
    """Return rail, cart and pole; the pole of unit length hangs where the cosine is −1."""
    x, cos, sin = (float(value) for value in state[:3])
    return [
        Stroke((-2.0, 0.0), (2.0, 0.0), 0.03, "#bbbbbb"),
        Stroke((x - 0.2, 0.0), (x + 0.2, 0.0), 0.2, "#0072b2"),
        Stroke((x, 0.0), (x + sin, cos), 0.08, "#d55e00"),
    ]


_CARTPOLE = View(cartpole_strokes, half_width=2.6)
VIEWS = {"cartpole-swingup": _CARTPOLE, "cartpole-swingup-noisy": _CARTPOLE}
"""By the name of the system."""
