"""Many fits: each in a directory of its own, computed once, some at a time."""
