"""Real systems: Gymnasium environments and the parts of them that are known functions."""

from farstep.systems.registration import register

register()
