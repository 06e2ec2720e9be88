"""`farstep train`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from farstep.agents.config import ONLINE_STEPS, AgentConfig


@dataclass(frozen=True)
class Train:
    """Train an agent on a real system, without a model, and record every episode of it.

    This is the model-free baseline, and a source of data. A training that was killed continues
    when it is started again. Agents of Stable-Baselines3 record no episodes and start over.

    Example: farstep train cartpole-swingup --steps 50000 --seed 0 --out trained
    """

    system: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SYSTEM")]
    """A system's name (see `farstep systems`), a Gymnasium id, or module:attribute."""
    out: Path
    """Directory for policies, episodes, curve and checkpoints."""
    config: AgentConfig = field(default_factory=lambda: AgentConfig(steps=ONLINE_STEPS))
    """Settings; the defaults are Stable-Baselines3's."""
    seed: int = 0
    """The same seed gives the same agent."""
    option: tuple[str, ...] = ()
    """Options of the environment as NAME=VALUE, such as noise=0.05."""
    force: bool = False
    """Start over, replacing what is at --out."""

    def run(self) -> None:
        """Train, store, and say where."""
        from farstep.agents.files import BEST_FILE, POLICY_FILE
        from farstep.agents.online import TRACE_FILE
        from farstep.agents.train import train
        from farstep.cli.options import parse_options
        from farstep.report.agents import curve_chart
        from farstep.report.static import save_chart
        from farstep.systems.registry import system

        chosen = system(self.system)
        if self.option:
            chosen = chosen.with_options(**parse_options(self.option))
        agent = train(chosen, self.config, seed=self.seed, out=self.out, force=self.force)
        last, best = agent.curve.last, agent.curve.best
        print(f"{last['steps']:.0f} steps in {last['seconds']:.0f} s", end="")
        if best is not None:
            highest = agent.curve.rows[best]
            print(f"; real return {last['real_return']:.1f} at the end", end="")
            print(f", best {highest['real_return']:.1f} at step {highest['steps']:.0f}", end="")
        print()
        chart = curve_chart({"": [agent.curve]}, f"{self.config.agent} on {chosen.name}", "curve")
        pictures = save_chart(chart, self.out / "curve", force=True)
        files = [POLICY_FILE, BEST_FILE, *([TRACE_FILE] if agent.episodes else [])]
        for path in [*(self.out / name for name in files), *pictures]:
            print(f"wrote {path}")
