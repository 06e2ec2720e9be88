"""Event files: what is in them, and what is not imported for them."""

import subprocess
import sys
from pathlib import Path

CURVES = """
import sys
from pathlib import Path
from farstep.tensorboard import TensorBoard

with TensorBoard(Path(sys.argv[1])) as board:
    board.add({"loss": 0.5, "nothing": None}, step=3)
print("torch" in sys.modules)
import torch
print(torch.ones(2).sum().item())
"""


def test_curves_are_written_without_pytorch_which_can_be_imported_after(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", CURVES, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "2.0"]
    (file,) = tmp_path.iterdir()
    assert b"loss" in file.read_bytes() and b"nothing" not in file.read_bytes()
