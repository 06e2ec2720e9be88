"""Agents of Stable-Baselines3, in an imagined or a real system; the paper's way."""

import dataclasses
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farstep.agents.config import AGENTS, AgentConfig
from farstep.agents.curve import AgentCurve, now
from farstep.agents.files import Agent, AgentFiles
from farstep.agents.imagined import identity_parts, mean_return, say
from farstep.errors import FarstepError, did_you_mean
from farstep.fields import identity_of
from farstep.imagination.gymnasium_env import ImaginedVectorEnv
from farstep.imagination.imagine import Imagination
from farstep.policy import Policy
from farstep.progress import Bar
from farstep.systems.system import System
from farstep.tensorboard import TensorBoard

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm


class SB3Training:
    """One algorithm of Stable-Baselines3, one system.

    SAC takes all settings; the others keep their own defaults and take `steps`, `num_envs`,
    `gamma` and the evaluations. A training that was killed starts over.
    """

    def __init__(self, where: Imagination | System, config: AgentConfig, seed: int) -> None:
        if config.agent not in AGENTS:
            raise FarstepError(
                f"there is no agent '{config.agent}' for continuous actions. "
                f"{did_you_mean(config.agent, AGENTS)}"
            )
        self.where, self.config, self.seed = where, config, seed
        self.algorithm = config.agent.removeprefix("sb3:")
        self.system = where.system if isinstance(where, Imagination) else where

    def run(self, out: Path | None, force: bool) -> Agent:
        """Train; what is finished is read."""
        identity = identity_of(**identity_parts(self.where, self.config, self.seed))
        files = AgentFiles(out, identity, force)
        finished = files.finished()
        if finished is not None:
            return finished
        files.check()
        model, curve = self._create(), AgentCurve()
        best = self._policy(model, {})
        with (
            TensorBoard(out) as board,
            Bar(self.config.agent, self.config.steps, "steps") as bar,
        ):
            while model.num_timesteps < self.config.steps:
                before = model.num_timesteps
                row = self._interval(model, curve)
                curve.add(row)
                board.add(curve.scalars, row["steps"])
                bar.advance(f"real {row['real_return'] or 0:.4g}", by=row["steps"] - before)
                if curve.best in (None, len(curve.rows) - 1):
                    best = self._policy(model, {})
        if isinstance(self.where, Imagination):
            say(curve)
        record = {
            "identity": identity,
            "agent": dataclasses.asdict(self.config),
            "seed": self.seed,
            "versions": {name: version(name) for name in ("farstep", "stable-baselines3", "torch")},
            "curve": curve.to_json(),
        }
        policy = self._policy(model, record)
        return files.store(Agent(policy, dataclasses.replace(best, record=record), curve))

    def _create(self) -> "BaseAlgorithm":
        try:
            import stable_baselines3
        except ModuleNotFoundError as error:
            raise FarstepError(
                "Stable-Baselines3 is not installed; pip install 'farstep[sb3]'."
            ) from error
        if isinstance(self.where, Imagination):
            env = self.where.sb3_env(self.config.num_envs)
        else:
            env = self.where.make()
        settings: dict[str, Any] = {"seed": self.seed, "device": "cpu", "gamma": self.config.gamma}
        if self.algorithm == "SAC":
            settings |= _sac_settings(self.config)
        return getattr(stable_baselines3, self.algorithm)("MlpPolicy", env, **settings)

    def _interval(self, model: "BaseAlgorithm", curve: AgentCurve) -> dict[str, Any]:
        """Train to the next evaluation, and evaluate."""
        began, config, done = now(), self.config, model.num_timesteps
        end = min((done // config.eval_every + 1) * config.eval_every, config.steps)
        model.learn(end - done, reset_num_timesteps=done == 0)
        episodes = [info["r"] for info in model.ep_info_buffer or ()]
        real = None
        if config.eval_episodes:
            policy = self._policy(model, {})
            real = mean_return(self.system, policy, config.eval_episodes, self.seed)
        imagined = isinstance(self.where, Imagination)
        report = model.get_env().report() if imagined else {}  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
        return {
            **report,
            "steps": model.num_timesteps,
            "updates": getattr(model, "_n_updates", 0),
            **curve.time_since(began),
            "training_return": _mean(episodes),
            "imagined_return": self._imagined(model),
            "real_return": real,
        }

    def _imagined(self, model: "BaseAlgorithm") -> float | None:
        if not isinstance(self.where, Imagination):
            return None
        env = ImaginedVectorEnv(self.where.world, _EPISODES)
        policy = self._policy(model, {})
        states, _ = env.reset(seed=self.seed)
        returns, going = np.zeros(_EPISODES), np.ones(_EPISODES, bool)
        while going.any():
            states, rewards, terminated, truncated, _ = env.step(policy(states))
            returns += rewards * going
            going &= ~(terminated | truncated)
        return float(returns.mean())

    def _policy(self, model: "BaseAlgorithm", record: dict[str, Any]) -> Policy:
        activation, output = ("tanh", "clip") if self.algorithm in ("PPO", "A2C") else _SQUASHED
        layers = _layers(model.policy, self.algorithm)
        return Policy(layers, self.system.signals, self.system.name, activation, output, record)


_EPISODES = 8
_SQUASHED = ("relu", "squash")


def _sac_settings(config: AgentConfig) -> dict[str, Any]:
    """Return the settings in Stable-Baselines3's own words."""
    names = ("learning_rate", "buffer_size", "learning_starts", "batch_size", "tau")
    return {
        **{name: getattr(config, name) for name in names},
        "gradient_steps": config.gradient_steps,
        "ent_coef": "auto" if config.ent_coef is None else config.ent_coef,
        "target_entropy": "auto" if config.target_entropy is None else config.target_entropy,
        "policy_kwargs": {"net_arch": list(config.net_arch)},
    }


def _layers(policy: Any, algorithm: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the numbers of the network that acts, whatever the algorithm calls its parts."""
    if algorithm == "SAC":
        heads = [_numbers(head) for head in (policy.actor.mu, policy.actor.log_std)]
        last = tuple(np.concatenate(parts, axis=-1) for parts in zip(*heads, strict=True))
        return [*map(_numbers, _linear(policy.actor.latent_pi)), last]  # pyright: ignore[reportReturnType]
    if algorithm in ("TD3", "DDPG"):
        return [*map(_numbers, _linear(policy.actor.mu))]
    return [*map(_numbers, _linear(policy.mlp_extractor.policy_net)), _numbers(policy.action_net)]


def _linear(sequence: Any) -> list[Any]:
    return [layer for layer in sequence if hasattr(layer, "weight")]


def _numbers(layer: Any) -> tuple[np.ndarray, np.ndarray]:
    return layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy()


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None
