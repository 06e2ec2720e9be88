"""Models of dynamics: the contract, the networks, and the rollout recursion."""
