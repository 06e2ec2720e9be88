"""`farstep systems`."""

from dataclasses import dataclass

from farstep.cli.command import Command


@dataclass(frozen=True)
class Systems(Command):
    """List the systems that come with Farstep.

    Example: farstep systems
    """

    def run(self) -> None:
        """Print one line for each."""
        from farstep.cli.tables import print_table
        from farstep.systems.registry import SYSTEMS, get_system

        print_table(
            "Systems",
            ["name", "environment", "observations", "actions", "steps", "interval"],
            [
                (
                    system.name,
                    system.env_id,
                    system.signals.num_observations,
                    system.signals.num_actions,
                    system.max_episode_steps,
                    f"{system.signals.interval:g} s" if system.signals.interval else "",
                )
                for system in map(get_system, SYSTEMS)
            ],
        )
