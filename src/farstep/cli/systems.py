"""`farstep systems`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Systems:
    """List the systems that come with Farstep.

    Example: farstep systems
    """

    def run(self) -> None:
        """Print one line for each."""
        from farstep.cli.tables import print_table
        from farstep.systems.registry import SYSTEMS, system

        known = [system(name) for name in SYSTEMS]
        print_table(
            "Systems",
            ["name", "environment", "states", "actions", "steps", "interval"],
            [
                (
                    item.name,
                    item.env_id,
                    item.signals.num_states,
                    item.signals.num_actions,
                    item.episode_steps,
                    f"{item.signals.interval:g} s" if item.signals.interval else "",
                )
                for item in known
            ],
        )
