"""Rates of mbrl-lib, measured in an environment that has it (`fit_mbrl.PYTHON`)."""

import gymnasium
import mbrl.models
import mbrl.util.common
import mbrl.util.replay_buffer
import numpy as np
import omegaconf
import torch

from benchmarks.harness import median_seconds, per_second, size

D, K, WIDTH, BATCH = 5, 1, 256, 64
ROWS, EPOCHS = size(12_800, 640), size(4, 1)


class Sizes(gymnasium.Env):
    """An environment that only has spaces."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (D,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (K,), np.float32)


def updates_per_second() -> float:
    """Return the rate of the one-step trainer."""
    model, rng = _model(), np.random.default_rng(0)
    buffer = mbrl.util.replay_buffer.ReplayBuffer(ROWS, (D,), (K,))
    for _ in range(ROWS):
        buffer.add(rng.normal(size=D), rng.normal(size=K), rng.normal(size=D), 0.0, False, False)
    model.update_normalizer(buffer.get_all())
    batches, _ = mbrl.util.common.get_basic_buffer_iterators(
        buffer, BATCH, 0.0, ensemble_size=1, shuffle_each_epoch=True
    )
    trainer = mbrl.models.ModelTrainer(model, optim_lr=1e-3)

    def epoch() -> None:
        trainer.train(batches, num_epochs=1, evaluate=False)

    return ROWS / BATCH / median_seconds(epoch, EPOCHS)


def steps_per_second(count: int) -> float:
    """Return the rate of `ModelEnv` with `count` systems side by side."""
    env = mbrl.models.ModelEnv(
        Sizes(),
        _model(),
        termination_fn=lambda _, observation: torch.zeros(len(observation), 1, dtype=torch.bool),
        reward_fn=lambda action, observation: -(observation[:, :1] ** 2) - 0.1 * action[:, :1] ** 2,
        generator=torch.Generator(),
    )
    rng = np.random.default_rng(0)
    start = rng.normal(size=(count, D)).astype(np.float32)
    last = [env.reset(start, return_as_np=True)]
    actions = rng.uniform(-1, 1, (count, K)).astype(np.float32)

    def step() -> None:
        _, _, _, last[0] = env.step(actions, last[0], sample=False)

    return count * per_second(step)


def _model() -> mbrl.models.OneDTransitionRewardModel:
    torch.set_num_threads(1)
    tanh = omegaconf.OmegaConf.create({"_target_": "torch.nn.Tanh"})
    network = mbrl.models.GaussianMLP(
        D + K, D, "cpu", num_layers=2, ensemble_size=1, hid_size=WIDTH, activation_fn_cfg=tanh
    )
    return mbrl.models.OneDTransitionRewardModel(
        network, target_is_delta=True, normalize=True, learned_rewards=False
    )
