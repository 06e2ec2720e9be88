"""`farstep train-agent`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from farstep.cli.command import Command
from farstep.cli.options import AgentOptions, ConfigFile, EnvOptions, NamedValues, settings_of
from farstep.errors import FarstepError

if TYPE_CHECKING:
    from farstep.agents.agent import Agent
    from farstep.data.episodes import Episodes
    from farstep.model_env.model_env import ModelEnv
    from farstep.systems.system import System


@dataclass(frozen=True)
class TrainAgent(Command):
    """Train an agent in a saved model, or on a real system.

    With --model the agent is trained in that model; DATA give the initial states and the bounds.
    Without it the agent is trained on the real system --system, and every episode is stored. If
    the command is killed, the same command continues; agents of Stable-Baselines3 start over.

    Example: farstep train-agent cartpole-swingup/random --model models/h4 --steps 60000

    Example: farstep train-agent --system cartpole-swingup --steps 50000 --out online
    """

    main: ClassVar[str | None] = "agent"

    data: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")] = None
    """A file, a Minari directory, or the name of a shipped set: the data that the model was fitted
    on."""
    model: str | None = None
    """A model file, or a directory that `farstep fit` wrote."""
    agent: tyro.conf.OmitArgPrefixes[AgentOptions] = field(default_factory=AgentOptions)
    env: EnvOptions = field(default_factory=EnvOptions)
    out: Path = Path("agent")
    """Directory for policies, episodes, curve and checkpoints."""
    system: str | None = None
    """The real system: a name (see `farstep systems`), a Gymnasium id, or module:attribute. With
    --model, by default the system that the data name."""
    env_kwargs: NamedValues = field(default_factory=dict)
    """Keyword arguments of the real system's environment, such as observation_noise 0.05."""
    part: Literal["train", "all"] = "train"
    """The part of DATA to use."""
    split_seed: int = 0
    """Seed of the split; take the one of the model's fit."""
    seed: int = 0
    """The same seed gives the same agent."""
    config: ConfigFile = None
    """Options from a YAML or JSON file, or a run's config.json; those given here override it."""
    force: bool = False
    """Start over, and replace the agent at --out."""

    @classmethod
    def presets(cls, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the default presets: other ones on a real system."""
        online = given.get("system") is not None and not given.get("model")
        return {"agent": "online" if online else "default", "env": "default"}

    def run(self) -> None:
        """Train, store, and print the returns."""
        from farstep.agents.agent import BEST_FILE, TRACE_FILE
        from farstep.agents.train_agent import train_agent
        from farstep.plotting.learning_curves import agent_chart
        from farstep.plotting.static import save_chart
        from farstep.systems.network_policy import POLICY_FILE

        env = self._env()
        settings = settings_of(self.agent)
        agent = train_agent(env, settings, seed=self.seed, out=self.out, force=self.force)
        _print_returns(agent)
        title = f"{self.agent.algorithm} on {agent.policy.system}"
        pictures = save_chart(
            agent_chart({"": [agent.curve]}, title, "curve"), self.out / "curve", force=True
        )
        files = [POLICY_FILE, BEST_FILE, *([TRACE_FILE] if agent.episodes else [])]
        for path in [*(self.out / name for name in files), *pictures]:
            print(f"wrote {path}")

    def _env(self) -> "ModelEnv | System":
        """Return the environment to train in: the model's, or the real system."""
        from farstep.model_env.model_env import ModelEnv
        from farstep.models.model import load_model
        from farstep.systems.registry import get_system

        if self.env_kwargs and self.system is None:
            raise FarstepError("--env-kwargs needs a real system; pass --system too.")
        system = None if self.system is None else get_system(self.system)
        if system is not None and self.env_kwargs:
            system = system.with_env_kwargs(**self.env_kwargs)
        if self.model is not None:
            settings = settings_of(self.env)
            return ModelEnv(load_model(self.model), system, self._data(), settings)
        if system is None or self.data is not None:
            raise FarstepError(
                "pass DATA and --model to train in a model, or --system alone to train on a real "
                "system."
            )
        return system

    def _data(self) -> "Episodes | None":
        from farstep.data.dataset_files import read_dataset

        if self.data is None:
            return None
        data = read_dataset(self.data)
        return data if self.part == "all" else data.split(self.split_seed).train


def _print_returns(agent: "Agent") -> None:
    last, best = agent.curve.last, agent.curve.best
    parts = [f"{last['steps']:.0f} steps in {last['seconds']:.0f} s"]
    if last.get("imagined_return") is not None:
        parts.append(f"imagined return {last['imagined_return']:.1f} at the end")
    if best is not None:
        row = agent.curve.rows[best]
        parts.append(
            f"real return {last['real_return']:.1f} at the end, best {row['real_return']:.1f} at "
            f"step {row['steps']:.0f}"
        )
    print("; ".join(parts))
