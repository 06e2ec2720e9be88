"""Train a one-step model on its errors 1 to h steps ahead: the paper's idea in plain JAX.

A one-step model p̂(s, a) is applied to its own predictions to look further ahead (equation 1):

    p̂¹(s_t, a_t) = p̂(s_t, a_t),    p̂ʲ(s_t, a_t…a_{t+j-1}) = p̂(p̂ʲ⁻¹(s_t, …), a_{t+j-1}).

It is trained on L_α = Σ_j α_j |s_{t+j} − p̂ʲ|² (equation 2), with the gradient flowing through all
model steps. The script fits a noisy pendulum with h = 1 and with h = 8, and draws R²(j) of both:

    python examples/multistep_model.py        # writes multistep_model.png, about a minute

Benechehab et al. (2023), Multi-timestep models for model-based reinforcement learning.
"""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib.figure import Figure

STEPS, NOISE = 200, 0.03  # of an episode; standard deviation of the sensors' noise


# Data: episodes of a pendulum under torques that are held for a while.


def pendulum(episodes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy observations (n, T + 1, 3) of (cos θ, sin θ, θ̇) and actions (n, T, 1)."""
    rng = np.random.default_rng(seed)
    actions = np.repeat(rng.uniform(-1, 1, (episodes, STEPS // 10)), 10, axis=1)
    angle, velocity = rng.uniform(-np.pi, np.pi, episodes), rng.uniform(-1, 1, episodes)
    rows = [(angle, velocity)]
    for action in actions.T:
        velocity = velocity + 0.1 * (np.sin(angle) - 0.1 * velocity + 1.5 * action)
        angle = angle + 0.1 * velocity
        rows.append((angle, velocity))
    angles, velocities = (np.stack(column, axis=1) for column in zip(*rows, strict=True))
    clean = np.stack([np.cos(angles), np.sin(angles), velocities], axis=-1)
    return clean + NOISE * rng.normal(size=clean.shape), actions[..., None]


# Model: a network that predicts the normalised change of the state.


def create(key: jax.Array, sizes: tuple[int, ...]) -> list[tuple[jax.Array, jax.Array]]:
    """Draw weights and biases uniformly within ±1/√n, as PyTorch does."""
    layers = []
    for n, m in pairwise(sizes):
        key, *keys = jax.random.split(key, 3)
        draw = partial(jax.random.uniform, minval=-(n**-0.5), maxval=n**-0.5)
        layers.append((draw(keys[0], (n, m)), draw(keys[1], (m,))))
    return layers


def predict(layers: list, scale: dict, state: jax.Array, action: jax.Array) -> jax.Array:
    """Return p̂(s, a), the mean of the next state."""
    x = jnp.concatenate(
        [
            (state - scale["state_mean"]) / scale["state_std"],
            (action - scale["action_mean"]) / scale["action_std"],
        ],
        axis=-1,
    )
    for weight, bias in layers[:-1]:
        x = jax.nn.silu(x @ weight + bias)
    weight, bias = layers[-1]
    return state + scale["delta_mean"] + scale["delta_std"] * (x @ weight + bias)


def rollout(layers: list, scale: dict, state: jax.Array, actions: jax.Array) -> jax.Array:
    """Return p̂¹ … p̂ʰ for actions (h, …, k): the recursion."""

    def step(state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = predict(layers, scale, state, action)
        return state, state

    return jax.lax.scan(step, state, actions)[1]


# Objective: the weighted sum of the errors 1 to h steps ahead.


def decay(beta: float, horizon: int) -> np.ndarray:
    """Return α_j ∝ βʲ, which sum to one over j = 1 … h."""
    powers = beta ** np.arange(1, horizon + 1)
    return powers / powers.sum()


def loss(layers: list, scale: dict, alpha: jax.Array, states: jax.Array, actions: jax.Array):
    """Return L_α of windows: states (h + 1, batch, d) and actions (h, batch, k)."""
    errors = (states[1:] - rollout(layers, scale, states[0], actions)) / scale["state_std"]
    return alpha @ jnp.square(errors).mean(axis=(1, 2))


def windows(episodes: np.ndarray, length: int) -> np.ndarray:
    """Return all stretches of `length` rows, time first: (length, windows, columns)."""
    starts = range(episodes.shape[1] - length + 1)
    return np.concatenate([episodes[:, t : t + length] for t in starts]).swapaxes(0, 1)


def fit(states: np.ndarray, actions: np.ndarray, alpha: np.ndarray, updates: int = 3000):
    """Minimise L_α with Adam, a cosine schedule and clipped gradients."""
    delta = np.diff(states, axis=1)
    named = {"state": states, "action": actions, "delta": delta}
    scale = {f"{n}_mean": v.mean((0, 1)) for n, v in named.items()}
    scale |= {f"{n}_std": v.std((0, 1)) for n, v in named.items()}
    horizon = len(alpha)
    data = jnp.asarray(windows(states, horizon + 1)), jnp.asarray(windows(actions, horizon))
    d, k = states.shape[-1], actions.shape[-1]
    layers = create(jax.random.key(0), (d + k, 64, 64, d))
    schedule = optax.cosine_decay_schedule(3e-3, updates)
    adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))

    @jax.jit
    def update(number: int, carry: tuple) -> tuple:
        layers, optimiser = carry
        batch = jax.random.randint(jax.random.key(number), (256,), 0, data[0].shape[1])
        gradient = jax.grad(loss)(layers, scale, alpha, data[0][:, batch], data[1][:, batch])
        changes, optimiser = adam.update(gradient, optimiser)
        return optax.apply_updates(layers, changes), optimiser

    run = jax.jit(partial(jax.lax.fori_loop, 0, updates, update))
    return run((layers, adam.init(layers)))[0], scale


# Evaluation: R² against the horizon, on episodes that were not trained on.


def r_squared(layers: list, scale: dict, states: np.ndarray, actions: np.ndarray, horizon: int):
    """Return R²(j) = 1 − SSE(j)/SST(j), j = 1 … H, the mean over dimensions."""
    truth = windows(states, horizon + 1)
    predicted = jax.jit(rollout)(layers, scale, truth[0], windows(actions, horizon))
    squared_errors = np.square(truth[1:] - predicted).sum(axis=1)
    return (1 - squared_errors / (truth[1:].var(axis=1) * truth.shape[1])).mean(axis=-1)


def main(path: str = "multistep_model.png", updates: int = 3000, horizon: int = 100) -> dict:
    """Fit both models, draw R² against the horizon, and return it by name."""
    train, test = pendulum(20, seed=0), pendulum(10, seed=1)
    profiles = {"h = 1": decay(1.0, 1), "h = 8, decay 0.9": decay(0.9, 8)}
    found = {}
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, alpha in profiles.items():
        layers, scale = fit(*train, alpha, updates)
        found[name] = np.asarray(r_squared(layers, scale, *test, horizon))
        axes.plot(np.arange(1, horizon + 1), found[name], label=name)
        print(f"{name:18s} R²(10) {found[name][9]:.3f}  R²({horizon}) {found[name][-1]:.3f}")
    axes.set(xlabel="steps ahead", ylabel="R²", ylim=(-0.2, 1.02), title="Noisy pendulum")
    axes.legend()
    figure.savefig(path)
    print(f"wrote {path}")
    return found


if __name__ == "__main__":
    main()
