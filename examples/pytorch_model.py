"""Evaluate a PyTorch model; any function (observations, actions) → next observations will do.

Run it with `python examples/pytorch_model.py`; the extra `sb3` installs PyTorch.
"""

import torch

import farstep as fs
from farstep.evaluation.evaluation import Evaluation


class Model(torch.nn.Module):
    """A network that predicts how the observation changes in one step."""

    def __init__(self, observations: int, actions: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(observations + actions, 64),
            torch.nn.Tanh(),
            torch.nn.Linear(64, observations),
        )

    def forward(self, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Return the next observations, one row for each."""
        return observations + self.layers(torch.cat([observations, actions], dim=1))


def trained(data: fs.Episodes, updates: int = 300) -> Model:
    """Fit one step ahead, the ordinary way."""
    torch.manual_seed(0)
    before = torch.tensor([row for e in data for row in e.observations[:-1].tolist()])
    after = torch.tensor([row for e in data for row in e.observations[1:].tolist()])
    actions = torch.tensor(data.actions.tolist())
    model = Model(before.shape[1], actions.shape[1])
    adam = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(updates):
        batch = torch.randint(0, len(before), (256,))
        loss = torch.nn.functional.mse_loss(model(before[batch], actions[batch]), after[batch])
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model.eval()


def main(horizon: int = 50) -> Evaluation:
    """Train, evaluate beside the references, and draw."""
    train, _, test = fs.load_dataset("cartpole-swingup/random").split(seed=0)
    result = fs.evaluate({"PyTorch": trained(train)}, test, horizon, train=train)
    for model in result.models:
        print(f"{model.name:12} R²({horizon}) {model.at(horizon)[0]:.3f}")
    print(*result.save("pytorch-evaluation", force=True), sep="\n")
    return result


if __name__ == "__main__":
    main()
