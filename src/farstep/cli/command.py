"""The base of all commands: a dataclass of options that can run."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro


@dataclass(frozen=True)
class Preset:
    """The name of a preset, and the size of an ensemble, on which other presets depend."""

    preset: str | None = None
    ensemble_size: int | None = None


@dataclass(frozen=True)
class Preliminary:
    """The options that change the defaults of other options."""

    command: Annotated[str | None, tyro.conf.Positional] = None
    subcommand: Annotated[str | None, tyro.conf.Positional] = None
    """Of a group such as `farstep data`; another command's first argument."""
    version: bool = False
    config: Path | None = None
    preset: str | None = None
    model: tuple[str, ...] = ()
    system: str | None = None
    fit: Preset = field(default_factory=Preset)
    agent: Preset = field(default_factory=Preset)
    env: Preset = field(default_factory=Preset)


class Command(ABC):
    """A command; subclasses are frozen dataclasses whose fields are its options."""

    main: ClassVar[str | None] = None
    """The configuration whose options have no prefix."""

    @classmethod
    def presets(cls, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the default preset of each configuration, by the name of its field.

        Args:
            given: The options that are known so far: of a file, and --system and --model.
        """
        del given
        return {}

    @abstractmethod
    def run(self) -> None:
        """Do the work, print what came of it, and say where it was written."""


@dataclass(frozen=True)
class CommandGroup:
    """Commands that share their first word, such as `farstep data info`."""

    about: str
    commands: Mapping[str, type[Command]]
