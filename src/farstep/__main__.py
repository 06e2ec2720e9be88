"""`python -m farstep` is the `farstep` command."""

from farstep.cli import main

main()
