"""Animations: one frame for every other step, beside the real system."""

import io

import numpy as np
from PIL import Image

from farstep.evaluation.example_rollouts import ExampleRollouts, PredictedRollouts
from farstep.plotting.animation import animation, cartpole_strokes


def _examples(horizon: int, steps: np.ndarray, name: str = "model") -> ExampleRollouts:
    observed = np.tile(np.array([0.0, -1.0, 0.0, 0.0, 0.0]), (1, horizon + 1, 1))
    mean = np.tile(np.array([0.5, 0.0, 1.0, 0.0, 0.0]), (1, len(steps), 1))
    mean[0, -1] = np.nan  # a model that diverged
    return ExampleRollouts(["start"], observed, {name: PredictedRollouts(steps, mean, None)})


def test_a_frame_for_every_other_step_and_a_panel_for_each_model():
    data = animation(_examples(20, np.arange(1, 21)), "cartpole-swingup")
    assert data is not None
    picture = Image.open(io.BytesIO(data))
    assert getattr(picture, "n_frames", 1) == 11
    assert picture.size == (520, 170)
    differs = []
    for frame in (0, 1):
        picture.seek(frame)
        pixels = np.asarray(picture.convert("RGB"))[20:]
        differs.append(bool((pixels[:, :260] != pixels[:, 260:]).any()))
    assert differs == [False, True]  # both begin at the same observation


def test_what_cannot_be_drawn_has_no_animation():
    whole = np.arange(1, 21)
    assert animation(_examples(20, whole), "pendulum-swingup") is None
    assert animation(_examples(20, whole), None) is None
    assert animation(_examples(20, whole, "oracle"), "cartpole-swingup") is None
    assert animation(_examples(20, whole[4::5]), "cartpole-swingup") is None  # a fixed horizon


def test_the_pole_hangs_at_a_cosine_of_minus_one():
    pole = cartpole_strokes(np.array([0.3, -1.0, 0.0, 0.0, 0.0]))[-1]
    assert (pole.start, pole.end) == ((0.3, 0.0), (0.3, -1.0))
