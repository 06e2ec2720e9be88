"""Event files: what is in them, and what is not imported for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from farstep.errors import FarstepError
from farstep.storage.event_files import TensorBoard, _part

CURVES = """
import sys
from pathlib import Path
from farstep.storage.event_files import TensorBoard

with TensorBoard(Path(sys.argv[1])) as board:
    board.add({"loss": 0.5, "nothing": None}, step=3)
print("torch" in sys.modules)
"""


def test_curves_are_written_without_pytorch(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", CURVES, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]
    (file,) = tmp_path.iterdir()
    assert b"loss" in file.read_bytes()
    assert b"nothing" not in file.read_bytes()


def test_values_are_read_by_tensorboards_own_format(tmp_path: Path):
    with TensorBoard(None) as silent:
        silent.add({"loss": 1.0}, step=0)
    for start in (0, 2):  # a killed run that continues writes a second file
        with TensorBoard(tmp_path, start) as board:
            board.add({"loss": 0.25 + start}, step=start + 1)
    assert len(list(tmp_path.iterdir())) == 2
    # Imported without PyTorch, which takes seconds.
    event, found = _part("proto.event_pb2").Event, []
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        while data:
            size = int.from_bytes(data[:8], "little")
            read = event.FromString(data[12 : 12 + size])
            found += [(read.step, value.tag, value.simple_value) for value in read.summary.value]
            data = data[16 + size :]
    assert sorted(found) == [(1, "loss", 0.25), (3, "loss", 2.25)]


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FarstepError, match="file"):
        TensorBoard(tmp_path / "file" / "below")
