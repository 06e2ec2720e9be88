"""Score a PyTorch model: any function (states, actions) → next states will do.

Run it with `python examples/pytorch_model.py`; the extra `sb3` installs PyTorch.
"""

import torch

import farstep as fs
from farstep.evaluation.evaluate import Evaluation


class Model(torch.nn.Module):
    """A network that predicts how the state changes in one step."""

    def __init__(self, states: int, actions: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(states + actions, 64), torch.nn.Tanh(), torch.nn.Linear(64, states)
        )

    def forward(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Return the next states, one row for each."""
        return states + self.layers(torch.cat([states, actions], dim=1))


def trained(data: fs.Episodes, updates: int = 300) -> Model:
    """Fit one step ahead, the ordinary way."""
    torch.manual_seed(0)
    before = torch.tensor([row for e in data for row in e.states[:-1].tolist()])
    after = torch.tensor([row for e in data for row in e.states[1:].tolist()])
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
    """Train, score beside the references, and draw."""
    train, _, test = fs.load("cartpole-swingup/random").split(seed=0)
    result = fs.score({"PyTorch": trained(train)}, test, horizon, train=train)
    for score in result.scores:
        print(f"{score.name:12} R²({horizon}) {score.at(horizon)[0]:.3f}")
    print(*result.save("pytorch-score", force=True), sep="\n")
    return result


if __name__ == "__main__":
    main()
