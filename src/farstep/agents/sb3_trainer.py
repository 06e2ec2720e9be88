"""SB3Trainer: trains agents of Stable-Baselines3, in a model environment or on a real system."""

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from farstep.agents.agent import Agent
from farstep.agents.config import AgentConfig
from farstep.agents.real_return import IMAGINED_EPISODES
from farstep.agents.trainer import Trainer
from farstep.model_env.gymnasium_env import ModelVectorEnv
from farstep.model_env.model_env import ModelEnv
from farstep.runtime.progress import Bar
from farstep.storage.run_directory import RunDirectory
from farstep.systems.network_policy import NetworkPolicy
from farstep.systems.system import System

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm


class SB3Trainer(Trainer):
    """Trains one agent of Stable-Baselines3 in one environment. It has no checkpoints."""

    packages = ("stable-baselines3", "torch")
    model: "BaseAlgorithm"

    def __init__(self, env: ModelEnv | System, config: AgentConfig, seed: int) -> None:
        super().__init__(env, config, seed)
        self.label, self._algorithm = config.algorithm, config.algorithm.removeprefix("sb3:")

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self.model.num_timesteps

    def train(self, run: RunDirectory) -> Agent:
        """Train from the beginning to the end."""
        env = self.env
        made = env.make() if isinstance(env, System) else env.sb3(self.config.num_envs)
        with closing(made):
            self.model = self.create(made)
            return super().train(run)

    def begin(self, run: RunDirectory) -> None:
        """Do nothing: there is no checkpoint to continue from."""

    def save(self, run: RunDirectory) -> None:
        """Do nothing."""

    def train_until(self, end: int, bar: Bar) -> dict[str, Any]:
        """Train up to this step; return columns of the learning curve."""
        done = self.steps
        self.model.learn(end - done, reset_num_timesteps=done == 0)
        real = self.curve.last.get("real_return")
        bar.advance("" if real is None else f"real {real:.4g}", by=self.steps - done)
        returns = [info["r"] for info in self.model.ep_info_buffer or ()]
        report = {}
        if isinstance(self.env, ModelEnv):
            report = self.model.get_env().report(clear=True)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
        return {
            **report,
            "steps": self.steps,
            "updates": getattr(self.model, "_n_updates", 0),
            "training_return": float(np.mean(returns)) if returns else None,
        }

    def imagined_columns(self) -> dict[str, float]:
        """Return the policy's mean return in the model, if it is trained in one."""
        if isinstance(self.env, System):
            return {}
        env, policy = ModelVectorEnv(self.env.evaluation_env, IMAGINED_EPISODES), self.policy()
        observations, _ = env.reset(seed=self.seed)
        returns = np.zeros(IMAGINED_EPISODES)
        unfinished = np.ones(IMAGINED_EPISODES, bool)
        while unfinished.any():
            step = env.step(policy.predict(observations))
            observations, rewards, terminated, truncated, _ = step
            returns += rewards * unfinished
            unfinished &= ~(terminated | truncated)
        return {"imagined_return": float(returns.mean())}

    def policy(self) -> NetworkPolicy:
        """Return the policy's network, which runs without PyTorch."""
        on_policy = self._algorithm in ("PPO", "A2C")
        return NetworkPolicy(
            _layers(self.model.policy, self._algorithm),
            self.system.signals,
            self.system.name,
            "tanh" if on_policy else "relu",
            "clip" if on_policy else "squash",
        )

    def create(self, env: Any) -> "BaseAlgorithm":
        """Return a new agent for an environment."""
        import stable_baselines3
        from stable_baselines3.common.logger import Logger

        settings: dict[str, Any] = {"seed": self.seed, "device": "cpu", "gamma": self.config.gamma}
        if self._algorithm == "SAC":
            settings |= _sac_settings(self.config)
        model = getattr(stable_baselines3, self._algorithm)("MlpPolicy", env, **settings)
        # Its default logger would leave a temporary directory at each call of learn.
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model


def _sac_settings(config: AgentConfig) -> dict[str, Any]:
    """Return the settings by the names of Stable-Baselines3."""
    names = ("learning_rate", "buffer_size", "batch_size", "tau", "gradient_steps")
    return {
        **{name: getattr(config, name) for name in names},
        "learning_starts": config.warm_up,
        "ent_coef": "auto" if config.ent_coef is None else config.ent_coef,
        "target_entropy": "auto" if config.target_entropy is None else config.target_entropy,
        "policy_kwargs": {"net_arch": list(config.net_arch)},
    }


def _layers(policy: Any, algorithm: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return weight and bias of each layer of the actor, whatever the algorithm names them."""
    if algorithm == "SAC":
        heads = [_arrays(head) for head in (policy.actor.mu, policy.actor.log_std)]
        last = tuple(np.concatenate(parts, axis=-1) for parts in zip(*heads, strict=True))
        return [*map(_arrays, _linear(policy.actor.latent_pi)), last]  # pyright: ignore[reportReturnType]
    if algorithm in ("TD3", "DDPG"):
        return [*map(_arrays, _linear(policy.actor.mu))]
    return [*map(_arrays, _linear(policy.mlp_extractor.policy_net)), _arrays(policy.action_net)]


def _linear(sequence: Any) -> list[Any]:
    return [layer for layer in sequence if hasattr(layer, "weight")]


def _arrays(layer: Any) -> tuple[np.ndarray, np.ndarray]:
    return layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy()
