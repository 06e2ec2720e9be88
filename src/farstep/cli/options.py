"""Configurations as options: every field, and a preset that gives the defaults of the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import tyro

from farstep.agents.config import PRESETS as AGENT_PRESETS
from farstep.agents.config import AgentConfig, AgentPreset
from farstep.model_env.config import PRESETS as ENV_PRESETS
from farstep.model_env.config import EnvPreset, ModelEnvConfig
from farstep.settings import chosen
from farstep.training.config import PRESETS as FIT_PRESETS
from farstep.training.config import FitConfig, FitPreset

Data: TypeAlias = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
SystemName: TypeAlias = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SYSTEM")]
ConfigFile: TypeAlias = Annotated[Path | None, tyro.conf.arg(metavar="FILE")]
NamedValues: TypeAlias = Annotated[
    dict[str, int | float | bool | str], tyro.conf.arg(metavar="[NAME VALUE …]")
]


@dataclass(frozen=True)
class _FitPreset:
    preset: FitPreset = "default"
    """Preset that the options below override: default; ensemble (three models, with an observer);
    fast (half as long); paper (the paper's network and training). --help shows its values."""


@dataclass(frozen=True)
class FitOptions(FitConfig, _FitPreset):
    """How the model is fitted."""

    def __post_init__(self) -> None:
        """Leave the checks to the library: tyro would rephrase its messages."""


@dataclass(frozen=True)
class _AgentPreset:
    preset: AgentPreset = "default"
    """Preset that the options below override: default (60 000 updates, a minute or two); fast
    (24 000); long (120 000); paper (500 000, over an hour); online (for a real system). --help
    shows its values."""


@dataclass(frozen=True)
class AgentOptions(AgentConfig, _AgentPreset):
    """How the agent is trained."""

    def __post_init__(self) -> None:
        """Leave the checks to the library."""


@dataclass(frozen=True)
class _EnvPreset:
    preset: EnvPreset = "default"
    """Preset that the options below override: default (full episodes); branched (short ones from
    any observation); ensemble (branched, for ensembles); offline (ensemble, with a penalty).
    --help shows its values."""


@dataclass(frozen=True)
class EnvOptions(ModelEnvConfig, _EnvPreset):
    """The model environment that the agent is trained in."""

    def __post_init__(self) -> None:
        """Leave the checks to the library."""


AnyOptions: TypeAlias = FitOptions | AgentOptions | EnvOptions
Options = TypeVar("Options", FitOptions, AgentOptions, EnvOptions)
PRESETS: dict[type[AnyOptions], Mapping[str, Any]] = {
    FitOptions: FIT_PRESETS,
    AgentOptions: AGENT_PRESETS,
    EnvOptions: ENV_PRESETS,
}


def options_of(kind: type[Options], preset: str, settings: Mapping[str, Any]) -> Options:
    """Return a preset with some fields replaced, as options."""
    config = chosen({**settings, "preset": preset}, PRESETS[kind], preset)
    return kind(**vars(config), preset=preset)  # pyright: ignore[reportArgumentType]


def settings_of(options: AnyOptions) -> dict[str, Any]:
    """Return options as the library takes settings: a preset and what differs from it."""
    config = PRESETS[type(options)][options.preset]
    given = {name: getattr(options, name) for name in vars(config)}
    differences = {name: value for name, value in given.items() if value != getattr(config, name)}
    return {"preset": options.preset, **differences}
