"""Models of dynamics: the contract, and what is written against it."""
