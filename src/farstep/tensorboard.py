"""Curves as TensorBoard event files, while something is trained."""

from collections.abc import Mapping
from pathlib import Path


class TensorBoard:
    """Writes named numbers against a step; without a directory it writes nothing."""

    def __init__(self, folder: Path | None, start: int = 0) -> None:
        self._writer = None
        if folder is not None:
            from tensorboardX import SummaryWriter

            self._writer = SummaryWriter(str(folder), purge_step=start)

    def add(self, values: Mapping[str, float | None], step: int) -> None:
        """Write the values of one step to the disk, so that a killed run misses nothing.

        None, which stands for what is no number, is left out.
        """
        if self._writer is None:
            return
        for name, value in values.items():
            if value is not None:
                self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def __enter__(self) -> "TensorBoard":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Finish the files."""
        if self._writer is not None:
            self._writer.close()
