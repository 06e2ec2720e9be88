"""Farstep: one-step dynamics models that stay accurate many steps ahead.

Importing it registers the environments `farstep/…` with Gymnasium; everything heavier waits until
it is used. The public names are listed in `__init__.pyi`.
"""

import lazy_loader

import farstep.systems  # noqa: F401  registers the environments

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
