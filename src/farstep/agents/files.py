"""What an agent keeps on disk: checkpoints while it learns, then its policies and its curve."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from farstep import tensors
from farstep.agents.curve import AgentCurve
from farstep.agents.networks import Layers
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.files import check_output, publish, remove_parts
from farstep.policy import POLICY_FILE, Policy, load_policy

BEST_FILE = "best.safetensors"
"""The policy with the highest real return of all evaluations."""
_LEARNER = "learner.safetensors"
_CHECKPOINT = "checkpoint.safetensors"
_ROWS = ".replay.rows"
T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Agent:
    """What training an agent gives."""

    policy: Policy
    """The last one, or with `keep="best"` the one that the model thinks best."""
    best: Policy
    """The one with the highest real return of all evaluations; the last one without them."""
    curve: AgentCurve
    episodes: Episodes | None = None
    """Of an agent that was trained on a real system: every episode of it."""
    learner: Any = None
    """Of an agent that was trained inside a model: the policy's networks and optimisers, to go on
    from."""

    def __repr__(self) -> str:
        """One line, without the policies' numbers."""
        last = {name: self.curve.last.get(name) for name in ("steps", "updates", "real_return")}
        return f"Agent for {self.policy.system}: {last}"


@dataclass(frozen=True)
class Progress:
    """Where training stands at an evaluation."""

    state: Any
    best: Layers
    curve: AgentCurve
    kept: Any = None
    """The learner that the model thinks best, if that one is asked for."""


@dataclass(frozen=True)
class AgentFiles:
    """The files of one training; without a folder nothing is kept."""

    folder: Path | None
    identity: str
    """Of settings, model and data: what another training left is refused."""
    force: bool = False
    """Start over in place of another training."""

    def finished(self, learner: Any = None) -> Agent | None:
        """Return what this very training gave, if it was stored already.

        Of the `learner` only the shapes are used; without it none is read.
        """
        if self.folder is None or self.force or not (self.folder / POLICY_FILE).exists():
            return None
        policy, best = (load_policy(self.folder / name) for name in (POLICY_FILE, BEST_FILE))
        if policy.record.get("identity") != self.identity:
            raise FarstepError(
                f"{self.folder} holds an agent with other settings, model or data; choose another "
                "place, or pass --force (force=True) to start over."
            )
        with tensors.understood(self.folder / POLICY_FILE, "policy"):
            curve = AgentCurve.from_json(policy.record["curve"])
        path = self.folder / _LEARNER
        if learner is None or not path.exists():
            return Agent(policy, best, curve)
        arrays, _ = tensors.decode(path, "learner")
        with tensors.understood(path, "learner"):
            return Agent(policy, best, curve, learner=tensors.from_arrays(learner, arrays))

    def check(self) -> None:
        """Fail now if the results could not be written at the end, or another's would be lost."""
        if self.folder is None:
            return
        check_output(self.folder / POLICY_FILE, self.force)
        path = self.folder / _CHECKPOINT
        if not self.force and path.exists() and self._identity(path) != self.identity:
            raise FarstepError(
                f"{self.folder} holds an unfinished agent with other settings, model or data; "
                "continue that one, choose another place, or pass --force (force=True)."
            )

    @staticmethod
    def _identity(path: Path) -> Any:
        return tensors.decode(path, "checkpoint")[1].get("identity")

    def write(self, progress: Progress) -> None:
        """Replace the checkpoint, atomically. Of the replay only what is filled is stored."""
        if self.folder is None:
            return
        arrays = tensors.to_arrays(progress.state, "state")
        filled = int(progress.state.replay.size)
        rows = f"state{_ROWS}"
        arrays[rows] = arrays[rows][:filled]
        arrays |= tensors.to_arrays(progress.best, "best")
        if progress.kept is not None:
            arrays |= tensors.to_arrays(progress.kept, "kept")
        header = {"identity": self.identity, "curve": progress.curve.to_json()}
        publish(self.folder / _CHECKPOINT, {"": tensors.encode(arrays, header)}, force=True)
        self.forget()  # from here on this training goes on when it is killed, without being forced

    def forget(self) -> None:
        """Remove what another training gave, where this one is to take its place."""
        if self.folder is not None and self.force:
            for name in (POLICY_FILE, BEST_FILE, _LEARNER):
                (self.folder / name).unlink(missing_ok=True)

    def read(self, like: Any) -> Progress | None:
        """Return the checkpoint, in the shape of `like`; None if there is none yet.

        With `force` there never is one to go on from.
        """
        if self.folder is None or self.force or not (self.folder / _CHECKPOINT).exists():
            return None
        path = self.folder / _CHECKPOINT
        arrays, header = tensors.decode(path, "checkpoint")
        rows, capacity = f"state{_ROWS}", like.replay.rows.shape[0]
        with tensors.understood(path, "checkpoint"):
            filled = arrays[rows]
            arrays[rows] = np.zeros((capacity, filled.shape[1]), filled.dtype)
            arrays[rows][: len(filled)] = filled
            kept = any(name.startswith("kept") for name in arrays)
            return Progress(
                state=tensors.from_arrays(like, arrays, "state"),
                best=tensors.from_arrays(like.learner.actor, arrays, "best"),
                curve=AgentCurve.from_json(header["curve"]),
                kept=tensors.from_arrays(like.learner, arrays, "kept") if kept else None,
            )

    def store(self, agent: Agent) -> Agent:
        """Write both policies, the last one last: it says that all is there."""
        if self.folder is not None:
            agent.best.save(self.folder / BEST_FILE, force=True)
            (self.folder / _LEARNER).unlink(missing_ok=True)
            if agent.learner is not None:
                arrays = tensors.to_arrays(agent.learner)
                content = tensors.encode(arrays, {"identity": self.identity})
                publish(self.folder / _LEARNER, {"": content}, force=True)
            agent.policy.save(self.folder / POLICY_FILE, force=self.force)
            (self.folder / _CHECKPOINT).unlink(missing_ok=True)
            remove_parts(self.folder)
        return agent


def copied(tree: T) -> T:
    """Copy a pytree whose buffers the next program will reuse."""
    return jax.tree.map(jnp.copy, tree)
