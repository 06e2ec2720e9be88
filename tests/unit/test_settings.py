"""Settings: frozen dataclasses that check their values, presets, and changes of them by name."""

import dataclasses
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pytest

from farstep.errors import FarstepError, did_you_mean, one_line
from farstep.settings import (
    changed,
    check_choice,
    check_counts,
    check_fields,
    chosen,
    replaced,
)


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self, positive=("rate",))


@dataclass(frozen=True)
class Config:
    width: int = 8
    patience: int | None = None
    noise: float = 0.0
    share: float = 0.5
    activation: Literal["relu", "tanh"] = "relu"
    when: Literal["early", "late"] | None = None
    sizes: tuple[int, ...] = (4, 4)
    pairs: tuple[tuple[int, int], ...] = ()
    name: str = ""
    on: bool = True
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self) -> None:
        check_fields(
            self,
            at_least={"width": 1, "patience": 1, "noise": 0.0},
            between_0_and_1=("share",),
        )


def test_numbers_and_lists_become_plain():
    config = Config(width=np.int64(3), noise=1, share=np.float32(0.5), sizes=[2, np.int32(3)])  # type: ignore[arg-type]
    assert config == Config(width=3, noise=1.0, share=0.5, sizes=(2, 3))
    assert (type(config.width), type(config.noise), type(config.share)) == (int, float, float)
    assert Config(pairs=[[1, 2]]).pairs == ((1, 2),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 1.5}, "width must be a whole number"),
        ({"width": True}, "width"),
        ({"width": 0}, "width must be at least 1"),
        ({"width": 2**70}, "width .*below"),
        ({"patience": "soon"}, "patience .*None"),
        ({"patience": 0}, "patience"),
        ({"noise": -0.1}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"noise": "a"}, "noise must be a number"),
        ({"share": 1.1}, "share must be between 0 and 1"),
        ({"activation": "rleu"}, "activation 'rleu'.*'relu'"),
        ({"activation": 5}, "activation"),
        ({"when": "never"}, "when must be .*early.*late"),
        ({"sizes": 4}, "sizes must be a list"),
        ({"sizes": (4, 0.5)}, "sizes"),
        ({"sizes": "44"}, "sizes"),
        ({"pairs": ((1, 2, 3),)}, "pairs"),
        ({"name": 3}, "name must be a text"),
        ({"on": 1}, "on"),
        ({"inner": {"rate": 1.0}}, "inner"),
    ],
)
def test_a_wrong_value_names_its_field(settings: dict, message: str):
    with pytest.raises(FarstepError, match=message):
        Config(**settings)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_a_positive_field_is_above_0_and_finite(rate: float):
    with pytest.raises(FarstepError, match="rate"):
        Inner(rate)


def test_settings_are_replaced_by_name():
    assert replaced(Config(), {"width": 3, "inner": {"rate": 1}}) == Config(3, inner=Inner(1.0))
    assert replaced(Config(), {"inner": Inner(0.25)}).inner.rate == 0.25
    with pytest.raises(FarstepError, match=r"'widht'.*'width'"):
        replaced(Config(), {"widht": 3})
    with pytest.raises(FarstepError, match=r"'rat'.*'rate'"):
        replaced(Config(), {"inner": {"rat": 3}})
    for wrong in ({"width": 3}, Config):
        with pytest.raises(FarstepError, match="configuration"):
            replaced(wrong, {})


PRESETS = {"default": Config(), "wide": Config(width=64)}


def test_a_configuration_comes_from_a_preset_settings_or_itself():
    def found(given: object) -> Config:
        return chosen(given, PRESETS, "default")  # type: ignore[arg-type]

    assert found(None) == found("default") == found({}) == Config()
    assert found("wide").width == 64
    assert found({"preset": "wide", "noise": 1}) == Config(width=64, noise=1.0)
    assert found(Config(width=5)) == Config(width=5)
    for wrong in ("wdie", {"preset": "wdie"}):
        with pytest.raises(FarstepError, match=r"preset 'wdie'.*'wide'"):
            found(wrong)
    with pytest.raises(FarstepError, match="preset"):
        found({"preset": 1})
    with pytest.raises(FarstepError, match="configuration"):
        found(5)


def test_a_given_configuration_is_checked_again():
    odd = Config()
    object.__setattr__(odd, "width", 0)
    with pytest.raises(FarstepError, match="width"):
        chosen(odd, PRESETS, "default")


def test_only_what_differs_is_changed():
    assert changed(Config(width=3), Config()) == {"width": 3}
    assert changed(Config(), Config(width=3)) == {"width": 8}
    assert changed(Config(inner=Inner(1.0)), Config()) == {"inner": {"rate": 1.0}}
    assert changed(dataclasses.replace(Config()), Config()) == {}


@pytest.mark.parametrize("value", [0, 2.5, "a", None, 2**31])
def test_counts_are_whole_numbers_within_limits(value: object):
    with pytest.raises(FarstepError, match="episodes"):
        check_counts({"episodes": 1}, {"episodes": value})
    check_counts({"episodes": 1}, {"episodes": np.int64(1)})


def test_a_misspelt_choice_lists_the_nearest():
    check_choice("colour", "red", ["red", "blue"])
    for wrong, message in (("bleu", "'blue'"), (5, "colour 5")):
        with pytest.raises(FarstepError, match=message):
            check_choice("colour", wrong, ["red", "blue"])
    assert "Did you mean 'Ant-v5'" in did_you_mean("ant-v4", ["cart"], ["Ant-v5"])
    assert "none" in did_you_mean("x", [])
    assert one_line(ValueError("first\nsecond")) == "first"
    assert one_line(KeyboardInterrupt()) == "KeyboardInterrupt"
