"""Agents of Stable-Baselines3, in an imagined or a real system; the paper's way."""

import dataclasses
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve, now
from farstep.agents.files import Agent, AgentFiles
from farstep.agents.training import (
    IMAGINED_EPISODES,
    check_real,
    identity,
    mean_return,
    notes,
    record,
    say,
)
from farstep.imagination.gymnasium_env import ImaginedVectorEnv
from farstep.imagination.imagine import Imagination
from farstep.packages import require
from farstep.policy import Policy
from farstep.progress import Bar
from farstep.systems.system import System
from farstep.tensorboard import TensorBoard

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

_VERSIONS = ("farstep", "stable-baselines3", "torch")


class SB3Training:
    """One algorithm of Stable-Baselines3, one system.

    SAC takes all settings but `keep` and `average`; the others keep their own defaults and take
    `steps`, `num_envs`, `gamma` and the evaluations. A training that was killed starts over.
    """

    def __init__(self, where: Imagination | System, config: AgentConfig, seed: int) -> None:
        self.where, self.config, self.seed = where, config, seed
        self.system = where.system if isinstance(where, Imagination) else where
        self.algorithm = config.agent.removeprefix("sb3:")
        if not isinstance(where, Imagination):
            check_real(where, config)

    def run(self, out: Path | None, force: bool) -> Agent:
        """Train; what is finished is read."""
        files = AgentFiles(out, identity(self.where, self.config, self.seed), force)
        finished = files.finished()
        if finished is not None:
            say(notes(finished.curve))
            return finished
        files.check()
        with (
            closing(self._environment()) as env,
            TensorBoard(out) as board,
            Bar(self.config.agent, self.config.steps, "steps") as bar,
        ):
            model, curve = self._create(env), AgentCurve()
            best = self._policy(model, {})
            while model.num_timesteps < self.config.steps:
                before = model.num_timesteps
                row = self._interval(model, curve)
                curve.add(row)
                board.add(curve.scalars, row["steps"])
                bar.advance(_status(row["real_return"]), by=row["steps"] - before)
                if curve.leads(curve.best):
                    best = self._policy(model, {})
        say(notes(curve))
        kept = record(files.identity, self.where, self.config, self.seed, curve, _VERSIONS)
        policy = self._policy(model, kept)
        return files.store(Agent(policy, dataclasses.replace(best, record=kept), curve))

    def _environment(self) -> Any:
        """Return where the agent lives; whoever takes it closes it."""
        require("sb3")
        if isinstance(self.where, Imagination):
            return self.where.sb3_env(self.config.num_envs)
        return self.where.make()

    def _create(self, env: Any) -> "BaseAlgorithm":
        import stable_baselines3
        from stable_baselines3.common.logger import Logger

        settings: dict[str, Any] = {"seed": self.seed, "device": "cpu", "gamma": self.config.gamma}
        if self.algorithm == "SAC":
            settings |= _sac_settings(self.config)
        model = getattr(stable_baselines3, self.algorithm)("MlpPolicy", env, **settings)
        # Without a logger of ours each call of learn would leave a directory among the temporary.
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model

    def _interval(self, model: "BaseAlgorithm", curve: AgentCurve) -> dict[str, Any]:
        """Train to the next evaluation, and evaluate."""
        began, config, done = now(), self.config, model.num_timesteps
        end = config.next_evaluation(done)
        model.learn(end - done, reset_num_timesteps=done == 0)
        spent = curve.time_since(began)
        episodes = [info["r"] for info in model.ep_info_buffer or ()]
        policy = self._policy(model, {})
        imagined = isinstance(self.where, Imagination)
        report = model.get_env().report(clear=True) if imagined else {}  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
        return {
            **report,
            "steps": model.num_timesteps,
            "updates": getattr(model, "_n_updates", 0),
            **spent,
            "training_return": float(np.mean(episodes)) if episodes else None,
            "imagined_return": self._imagined(model),
            "real_return": mean_return(self.system, policy, config.eval_episodes, self.seed),
        }

    def _imagined(self, model: "BaseAlgorithm") -> float | None:
        if not isinstance(self.where, Imagination):
            return None
        env = ImaginedVectorEnv(self.where.whole, IMAGINED_EPISODES)
        policy = self._policy(model, {})
        states, _ = env.reset(seed=self.seed)
        returns, going = np.zeros(IMAGINED_EPISODES), np.ones(IMAGINED_EPISODES, bool)
        while going.any():
            states, rewards, terminated, truncated, _ = env.step(policy(states))
            returns += rewards * going
            going &= ~(terminated | truncated)
        return float(returns.mean())

    def _policy(self, model: "BaseAlgorithm", record: dict[str, Any]) -> Policy:
        activation, output = ("tanh", "clip") if self.algorithm in ("PPO", "A2C") else _SQUASHED
        layers = _layers(model.policy, self.algorithm)
        return Policy(layers, self.system.signals, self.system.name, activation, output, record)


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


def _status(real: float | None) -> str:
    return "" if real is None else f"real {real:.4g}"
