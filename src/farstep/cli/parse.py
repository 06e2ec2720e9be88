"""Parse the command line in two passes: first the options that give defaults, then all."""

import dataclasses
import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_type_hints

import tyro

from farstep.cli.command import Command, CommandGroup, Preliminary
from farstep.cli.config_file import check_values, nested, preset_or_settings, read_config
from farstep.cli.options import PRESETS, options_of

_CONFIG = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitSubcommandPrefixes)


def preliminary(arguments: Sequence[str] | None = None) -> Preliminary:
    """Return the options that change defaults; `parse` reads the others."""
    found, _ = tyro.cli(
        Preliminary, prog="farstep", args=arguments, add_help=False, return_unknown_args=True
    )
    return found


def parse(
    commands: Mapping[str, type[Command] | CommandGroup],
    about: str,
    given: Preliminary,
    arguments: Sequence[str] | None = None,
) -> Command:
    """Return the command with all its options; tyro prints its own complaints and exits.

    Args:
        commands: The commands and groups of commands, by name.
        about: The description of the program in its help.
        given: What `preliminary` returned.
        arguments: Words of the command line, by default those of this process.
    """
    chosen = commands.get(given.command or "")
    if isinstance(chosen, CommandGroup):
        chosen = chosen.commands.get(given.subcommand or "")
    default, entries = (None, {}) if chosen is None else _defaults(chosen, given)
    union = _union(commands, chosen, default)
    found = tyro.cli(union, prog="farstep", description=about, args=arguments, config=_CONFIG)
    merged = {name: {**value, **getattr(found, name)} for name, value in entries.items()}
    return dataclasses.replace(found, **merged)


def _union(
    commands: Mapping[str, type[Command] | CommandGroup],
    chosen: type[Command] | None,
    default: Command | None,
) -> Any:
    """Return the union of all commands as tyro takes it; only the chosen one has defaults."""
    kinds: list[Any] = []
    for name, kind in commands.items():
        if isinstance(kind, CommandGroup):
            inner = _union(kind.commands, chosen, default)
            kinds.append(Annotated[inner, tyro.conf.subcommand(name, description=kind.about)])
            continue
        options = tyro.conf.subcommand(
            name,
            default=default if kind is chosen else tyro.MISSING_NONPROP,
            description=None if kind is chosen else _summary(kind),
        )
        kinds.append(Annotated[kind, options])
    return functools.reduce(operator.or_, kinds)


def _defaults(
    command: type[Command], given: Preliminary
) -> tuple[Command, dict[str, dict[str, Any]]]:
    """Return the command with its defaults, and its dictionaries from a configuration file.

    tyro would turn each entry of a dictionary's default into an option, so these are apart.
    """
    hints = get_type_hints(command)
    from_file = {}
    if given.config is not None and "config" in hints:
        from_file = nested(command, read_config(given.config, hints), command.main)
    words = {"system": given.system, "model": given.model}
    presets = command.presets({**from_file, **{n: value for n, value in words.items() if value}})
    plain = {name: value for name, value in from_file.items() if name not in presets}
    values: dict[str, Any] = check_values(command, plain)
    entries = {name: values.pop(name) for name in list(values) if isinstance(values[name], dict)}
    for name, usual in presets.items():
        settings = preset_or_settings(name, from_file.get(name, {}))
        if name == "env" and "fit" in values:
            size = given.fit.ensemble_size or values["fit"].ensemble_size
            usual = usual if size > 1 else "branched"
        named = getattr(given, name).preset or (given.preset if name == command.main else None)
        if named is None or named not in PRESETS[hints[name]]:  # tyro refuses an unknown one
            named = str(settings.get("preset", usual))
        values[name] = options_of(hints[name], named, settings)
    return _with_missing(command, values), entries


def _with_missing(command: type[Command], values: Mapping[str, Any]) -> Command:
    """Return a command with some values; required options without one are marked as missing.

    The constructor is not called, since the mark is of no option's type.
    """
    found = object.__new__(command)
    for field in dataclasses.fields(command):  # pyright: ignore[reportArgumentType]
        made = field.default_factory
        usual = field.default if made is dataclasses.MISSING else made()
        usual = tyro.MISSING if usual is dataclasses.MISSING else usual
        object.__setattr__(found, field.name, values.get(field.name, usual))
    return found


def _summary(command: type[Command]) -> str:
    """Return the first paragraph of a command's description."""
    return (command.__doc__ or "").partition("\n\n")[0]
