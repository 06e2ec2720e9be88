"""An ensemble of models of one kind, as a model."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.choices import EnsembleMode
from farstep.models.contract import Carry, Dynamics, Gaussian


class Ensemble(Dynamics):
    """Joins the predictions of its members, or draws a member at random."""

    members: Dynamics
    """All members in one pytree: every array has a leading axis of members."""
    ensemble_mode: EnsembleMode = eqx.field(static=True)
    """`mean` of all; a random member at each `step`; or one for a whole `rollout`."""
    fixed_horizon: int = eqx.field(static=True)

    @classmethod
    def of(cls, members: Sequence[Dynamics], ensemble_mode: EnsembleMode = "mean") -> "Ensemble":
        """Join members of the same description."""
        return cls(
            members=jax.tree.map(lambda *leaves: jnp.stack(leaves), *members),
            ensemble_mode=ensemble_mode,  # pyright: ignore[reportArgumentType]
            fixed_horizon=members[0].fixed_horizon,  # pyright: ignore[reportArgumentType]
        )

    @property
    def size(self) -> int:
        """The number of members."""
        return jax.tree.leaves(self.members)[0].shape[0]

    def member(self, number: int) -> Dynamics:
        """Return one member as a model of its own."""
        return jax.tree.map(lambda leaf: leaf[number], self.members)

    def each(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return every member's prediction, with a leading axis of members."""
        return jax.vmap(lambda member: member.predict(state, action))(self.members)

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return the Gaussian with the mean and variance of the members' equal mixture."""
        each = self.each(state, action)
        mean = each.mean.mean(axis=0)
        variance = (jnp.exp(2 * each.log_std) + jnp.square(each.mean - mean)).mean(axis=0)
        return Gaussian(mean, 0.5 * jnp.log(variance))

    def initial_carry(self, key: PRNGKeyArray) -> Carry:
        """Draw the member of this rollout."""
        return self._draw(key)

    def step(
        self,
        carry: Carry,
        state: Float[Array, " d"],
        action: Float[Array, " k"],
        key: PRNGKeyArray,
    ) -> tuple[Gaussian, Carry]:
        """Return the prediction of the mixture, or of the member that was drawn."""
        if self.ensemble_mode == "mean":
            return self.predict(state, action), carry
        # All members are evaluated and one is taken: gathering one member's weights for each
        # of many parallel rollouts would move more memory than that computes.
        member = self._draw(key) if self.ensemble_mode == "step" else carry
        return jax.tree.map(lambda leaf: leaf[member], self.each(state, action)), carry

    def _draw(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.randint(key, (), 0, self.size)
