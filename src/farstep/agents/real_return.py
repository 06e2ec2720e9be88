"""The return of an agent in full episodes: on the real system, and imagined in its model."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from farstep.agents.networks import Layers, action_distribution
from farstep.agents.sac import to_bounds
from farstep.model_env.pure_env import PureEnv
from farstep.systems.collect import run_episodes
from farstep.systems.policies import Policy
from farstep.systems.system import System

IMAGINED_EPISODES = 8
"""At each evaluation."""
_SEED_OFFSET = 1_000_000
"""Added to the seed, so that episodes differ from those that `collect` records with it."""


def real_return(system: System, policy: Policy, episodes: int, seed: int) -> float | None:
    """Return the mean return of a policy over episodes of the real system.

    The same seed gives the same episodes. Without episodes, or for a system that cannot be run
    (`env_id=None`), return None.
    """
    if not episodes or system.env_id is None:
        return None
    recorded = run_episodes(system, policy, episodes, seed + _SEED_OFFSET)
    return float(np.mean([episode.total_reward for episode in recorded]))


@jax.jit
def imagined_returns(env: PureEnv, actor: Layers, keys: Key[Array, " n"]) -> Float[Array, " n"]:
    """Return the returns of an actor's mean actions, in one imagined episode for each key."""

    def one(key: PRNGKeyArray) -> Float[Array, ""]:
        start_key, step_key = jax.random.split(key)

        def once(carry: tuple) -> tuple:
            state, total, _ = carry
            mean, _ = action_distribution(actor, state.observation)
            action = to_bounds(jnp.tanh(mean), env.signals)
            state, step = env.step(state, action, jax.random.fold_in(step_key, state.steps))
            return state, total + step.reward, step.done

        start = (env.reset(start_key), jnp.zeros(()), jnp.array(False))
        return jax.lax.while_loop(lambda carry: ~carry[2], once, start)[1]

    return jax.vmap(one)(keys)
