"""A run: an agent trained inside a fitted model, and its return on the real system."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from farstep.agents.config import AgentConfig
from farstep.datasets.reading import read
from farstep.errors import DivergedError
from farstep.fields import changed
from farstep.files import locked
from farstep.imagination.config import ImagineConfig
from farstep.loops.offline import OfflineSeed
from farstep.runs.run import Run, Runs
from farstep.runs.scored_fit import ScoredFit


@dataclass(frozen=True)
class OfflineAgent(Run):
    """Pure-batch RL with one seed, for model and agent."""

    fit: ScoredFit
    agent: AgentConfig
    imagination: ImagineConfig = field(default_factory=ImagineConfig)

    kind: ClassVar[str] = "offline"

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the model, of the agent and of what it imagines."""
        return {
            "fit": self.fit.settings,
            "agent": changed(self.agent, AgentConfig()),
            "imagination": changed(self.imagination, ImagineConfig()),
        }

    @property
    def reads(self) -> tuple[str, ...]:
        """What the model was fitted on."""
        return (self.fit.data,)

    @property
    def needs(self) -> tuple[Run, ...]:
        """The model; of one that is only recorded the files are made again."""
        return (self.fit,)

    @property
    def usual_seconds(self) -> float:
        """By the number of updates and the width of the networks."""
        return agent_seconds(self.agent)

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        """Train the agent and run it on the real system; what diverges earns nothing."""
        where = store.place(self.fit)
        seed = self.fit.config.seed
        one = OfflineSeed(self.fit.data, self.fit.config, self.agent, self.imagination, seed)
        try:
            with locked(where):
                model = self.fit.model(where)
            return one.inside(model, read(self.fit.data), place)
        except DivergedError as error:
            return {"return": 0.0, "imagined_return": None, "curve": [], "notes": [str(error)]}


def agent_seconds(agent: AgentConfig) -> float:
    """Return about how long an agent of this project is trained on one core."""
    updates = agent.steps / agent.num_envs * agent.gradient_steps
    return 20 + updates * (0.9 + 8e-3 * max(agent.net_arch) ** 1.25) / 1000
