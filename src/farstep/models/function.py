"""A user's own function, in NumPy or PyTorch, as a model of dynamics."""

import sys
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.errors import FarstepError, one_line
from farstep.models.contract import Dynamics, Gaussian


class FunctionDynamics(Dynamics):
    """Wraps a batched function (observations, actions) → next observations, or (mean, std) of them.

    The function runs outside the compiled program, on NumPy arrays (n, d) and (n, k). A PyTorch
    module gets tensors, and runs in evaluation mode without gradients.
    """

    function: Callable[..., Any] = eqx.field(static=True)
    """A hashable function; `functools.partial` makes any callable hashable."""
    fixed_horizon: int = eqx.field(static=True, default=1)

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Call the function; its prediction counts as exact if it returns no standard deviation."""
        shape = jax.ShapeDtypeStruct(state.shape, jnp.float32)
        mean, std = jax.pure_callback(
            self._call, (shape, shape), state, action, vmap_method="broadcast_all"
        )
        return Gaussian(mean, jnp.log(std))

    def _call(self, states: Any, actions: Any) -> tuple[np.ndarray, np.ndarray]:
        states, actions = np.asarray(states), np.asarray(actions)
        shape = states.shape
        states, actions = states.reshape(-1, shape[-1]), actions.reshape(-1, actions.shape[-1])
        mean, std = self.call(states, actions)
        return mean.reshape(shape), std.reshape(shape)

    def call(
        self, states: Float[np.ndarray, "n d"], actions: Float[np.ndarray, "n k"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """Return mean and standard deviation of the next states; 0 if the function gives none."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        try:
            result = _evaluated(self.function, states, actions)
            mean, std = result if isinstance(result, tuple) else (result, None)
            parts = [np.asarray(part, np.float32) for part in (mean, std) if part is not None]
        except Exception as error:  # whatever the user's own code raises
            raise FarstepError(
                f"'{name}' failed on observations {states.shape} and actions {actions.shape}: "
                f"{one_line(error)}"
            ) from error
        if not parts or any(part.shape != states.shape for part in parts):
            shapes = " and ".join(str(part.shape) for part in parts) or "nothing"
            raise FarstepError(
                f"'{name}' returned {shapes} for observations {states.shape}; return the next "
                "observations, one row for each, or a pair of means and standard deviations."
            )
        if len(parts) > 1 and not (parts[1] >= 0).all():
            raise FarstepError(f"'{name}' returned standard deviations that are not 0 or more.")
        return parts[0], parts[1] if len(parts) > 1 else np.zeros_like(parts[0])


def _evaluated(function: Callable[..., Any], states: np.ndarray, actions: np.ndarray) -> Any:
    torch = sys.modules.get("torch")  # a PyTorch module exists only if PyTorch is imported
    module: Any = function
    if torch is None or not isinstance(module, torch.nn.Module):
        return function(states, actions)
    like = next(module.parameters(), torch.zeros(()))
    inputs = (torch.from_numpy(array.copy()).to(like) for array in (states, actions))
    training = module.training
    module.eval()  # no dropout, and running batch statistics stay as they are
    try:
        with torch.no_grad():
            result = module(*inputs)
    finally:
        module.train(training)
    parts = result if isinstance(result, tuple) else (result,)
    arrays = tuple(part.cpu().numpy() for part in parts)
    return arrays if isinstance(result, tuple) else arrays[0]
