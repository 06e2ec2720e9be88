"""An ensemble of any models of one form, as a model."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.choices import Choice
from farstep.dynamics.contract import Dynamics, Gaussian, Memory


class Ensemble(Dynamics):
    """Several members' predictions joined into one, or one of them chosen at random."""

    members: Dynamics
    """All members in one pytree: every array has a leading axis of members."""
    choice: Choice = eqx.field(static=True)
    """`mean` of all; a random member at each `step`; or one for a whole `rollout`."""
    stride: int = eqx.field(static=True)

    @classmethod
    def of(cls, members: Sequence[Dynamics], choice: Choice = "mean") -> "Ensemble":
        """Join members of the same form."""
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
        stride = members[0].stride
        return cls(members=stacked, choice=choice, stride=stride)  # pyright: ignore[reportArgumentType]

    @property
    def size(self) -> int:
        """How many members there are."""
        return jax.tree.leaves(self.members)[0].shape[0]

    def each(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return every member's prediction, with a leading axis of members."""
        return jax.vmap(lambda member: member.predict(state, action))(self.members)

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return the Gaussian with the mean and variance of the members' equal mixture."""
        each = self.each(state, action)
        mean = each.mean.mean(axis=0)
        variance = (jnp.exp(2 * each.log_std) + jnp.square(each.mean - mean)).mean(axis=0)
        return Gaussian(mean, 0.5 * jnp.log(variance))

    def begin(self, key: PRNGKeyArray) -> Memory:
        """Choose the member of this rollout."""
        return self._draw(key)

    def step(
        self,
        memory: Memory,
        state: Float[Array, " d"],
        action: Float[Array, " k"],
        key: PRNGKeyArray,
    ) -> tuple[Gaussian, Memory]:
        """Return the chosen member's prediction, or the mixture's."""
        if self.choice == "mean":
            return self.predict(state, action), memory
        # All members are evaluated and one is taken: gathering one member's weights for each
        # of many parallel rollouts would move more memory than that computes.
        member = self._draw(key) if self.choice == "step" else memory
        return jax.tree.map(lambda leaf: leaf[member], self.each(state, action)), memory

    def _draw(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.randint(key, (), 0, self.size)
