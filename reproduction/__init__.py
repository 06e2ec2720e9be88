"""The paper's figures and tables: one file each, all with Farstep's public functions.

Run `python -m reproduction --help` in the source tree. `results` holds the rows of every figure
that were computed before.
"""
