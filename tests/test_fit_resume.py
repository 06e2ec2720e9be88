"""A fit that is stopped goes on to the same bits, and never from other settings."""

from pathlib import Path

import jax
import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.fitting.fit import fit
from pendulum import TINY, pendulum

_arrays = jax.tree.leaves


def test_a_fit_continues_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Stopped after each epoch in turn, in this process."""
    settings = {**TINY, "epochs": 4, "horizon": 2, "weights": "proportional", "members": 2}
    whole = fit(pendulum(3), pendulum(1), **settings)
    from farstep.fitting import fit as module

    class Stop(Exception):
        pass

    write_checkpoint = module.Checkpoints.write

    def stopping(self, member, checkpoint):
        write_checkpoint(self, member, checkpoint)
        raise Stop

    for _ in range(8):
        with monkeypatch.context() as patch, pytest.raises(Stop):
            patch.setattr(module.Checkpoints, "write", stopping)
            fit(pendulum(3), pendulum(1), out=tmp_path / "model", **settings)
    resumed = fit(pendulum(3), pendulum(1), out=tmp_path / "model", **settings)
    for one, two in zip(_arrays(whole.dynamics), _arrays(resumed.dynamics), strict=True):
        np.testing.assert_array_equal(one, two)
    assert list((tmp_path / "model").glob("checkpoint*")) == []
    assert list((tmp_path / "model").rglob("events.out.tfevents*"))


def test_an_unfinished_fit_with_other_settings_is_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from farstep.fitting import fit as module

    def interrupted(curve: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "_status", interrupted)
        fit(pendulum(2), pendulum(1), out=tmp_path / "model", **TINY)
    with pytest.raises(FarstepError, match=r"other settings or data.*--force"):
        fit(pendulum(2), pendulum(1), out=tmp_path / "model", **{**TINY, "width": 8})
    with pytest.raises(FarstepError, match="other settings or data"):
        fit(pendulum(2), pendulum(1), out=tmp_path / "model", model="linear")
    assert list((tmp_path / "model").glob("checkpoint*"))
    fit(pendulum(2), pendulum(1), out=tmp_path / "model", force=True, **{**TINY, "width": 8})
    with pytest.raises(FarstepError, match="exists already"):
        fit(pendulum(2), pendulum(1), out=tmp_path / "model", **TINY)


def test_force_starts_over_and_gets_past_damaged_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from farstep.fitting import fit as module

    written: list[int] = []
    write_checkpoint = module.Checkpoints.write

    def stopping(self, member, checkpoint):
        write_checkpoint(self, member, checkpoint)
        written.append(member)
        if len(written) in (1, 4):
            raise KeyboardInterrupt

    monkeypatch.setattr(module.Checkpoints, "write", stopping)
    settings, out = {**TINY, "epochs": 2, "members": 2}, tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        fit(pendulum(2), pendulum(1), out=out, **settings)
    for name in ("1", "2", "mine"):
        (out / f"checkpoint-{name}.safetensors").write_bytes(b"damaged")
    with pytest.raises(KeyboardInterrupt):
        fit(pendulum(2), pendulum(1), out=out, force=True, **settings)
    assert written == [0, 0, 0, 1], "it went on in place of starting over"
    left = sorted(path.stem.removeprefix("checkpoint-") for path in out.glob("checkpoint-*"))
    assert left == ["0", "1", "mine"]
    fit(pendulum(2), pendulum(1), out=out, **settings)
    assert written == [0, 0, 0, 1, 1], "what the forced fit had made was lost"


def test_a_forced_fit_that_is_killed_goes_on_without_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from farstep.fitting import fit as module

    other, out = {**TINY, "epochs": 2, "width": 8}, tmp_path / "model"
    fit(pendulum(2), pendulum(1), out=out, **TINY)
    with pytest.raises(FarstepError):  # refused before it began: what was there is there
        fit(pendulum(2), pendulum(1), out=out, force=True, **{**other, "horizon": 10_000})
    assert (out / "model.safetensors").exists()
    write_checkpoint, written = module.Checkpoints.write, []

    def stopping(self, member, checkpoint):
        write_checkpoint(self, member, checkpoint)
        written.append(member)
        if len(written) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(module.Checkpoints, "write", stopping)
    with pytest.raises(KeyboardInterrupt):
        fit(pendulum(2), pendulum(1), out=out, force=True, **other)
    fit(pendulum(2), pendulum(1), out=out, **other)
    assert len(written) == 2, "the first epoch was made again"
