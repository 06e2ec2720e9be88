"""Imagined steps per second of mbrl-lib's `ModelEnv`, in an environment that has `mbrl`."""

import sys
import time

import gymnasium
import mbrl.models
import mbrl.util.common
import numpy as np
import omegaconf
import torch

D, K, WIDTH = 5, 1, 256


class Sizes(gymnasium.Env):
    """An environment that only tells its spaces."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (D,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (K,), np.float32)


def main(count: int) -> None:
    """Print the rate with `count` systems side by side."""
    torch.set_num_threads(1)
    tanh = omegaconf.OmegaConf.create({"_target_": "torch.nn.Tanh"})
    network = mbrl.models.GaussianMLP(
        D + K, D, "cpu", num_layers=2, ensemble_size=1, hid_size=WIDTH, activation_fn_cfg=tanh
    )
    model = mbrl.models.OneDTransitionRewardModel(
        network, target_is_delta=True, normalize=True, learned_rewards=False
    )
    env = mbrl.models.ModelEnv(
        Sizes(),
        model,
        termination_fn=lambda _, state: torch.zeros(len(state), 1, dtype=torch.bool),
        reward_fn=lambda action, state: -(state[:, :1] ** 2) - 0.1 * action[:, :1] ** 2,
        generator=torch.Generator(),
    )
    rng = np.random.default_rng(0)
    state = env.reset(rng.normal(size=(count, D)).astype(np.float32), return_as_np=True)
    actions = rng.uniform(-1, 1, (count, K)).astype(np.float32)
    steps, began = 0, 0.0
    for turn in range(100_000):
        if turn == 20:
            began = time.perf_counter()
        _, _, _, state = env.step(actions, state, sample=False)
        if turn >= 20:
            steps += count
            if time.perf_counter() - began > 3:
                break
    print(steps / (time.perf_counter() - began))


main(int(sys.argv[1]))
