"""The wheel: what a user without the source tree gets."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build it once, from a copy, so that nothing is left in the source tree."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("src", "tests", "reproduction"):  # the last two, to see that they stay out
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (copy / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_it_contains_the_whole_package_and_nothing_else(wheel: zipfile.ZipFile):
    source = ROOT / "src"
    ours = {
        str(path.relative_to(source))
        for path in (source / "farstep").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == ours
    assert {"farstep/py.typed", "farstep/__init__.pyi"} <= inside


def test_it_contains_the_shipped_datasets(wheel: zipfile.ZipFile):
    folder = "farstep/data/shipped"
    records = json.loads(wheel.read(f"{folder}/shipped.json"))
    assert records
    for name in records:
        assert len(wheel.read(f"{folder}/{name}/data/main_data.hdf5")) > 100_000
        assert wheel.read(f"{folder}/{name}/data/metadata.json")


def test_it_has_the_command_and_the_licence(wheel: zipfile.ZipFile):
    info = {Path(name).name: name for name in wheel.namelist() if ".dist-info/" in name}
    assert "farstep = farstep.cli:main" in wheel.read(info["entry_points.txt"]).decode()
    assert b"Apache License" in wheel.read(info["LICENSE"])
    assert "Requires-Python: >=3.11" in wheel.read(info["METADATA"]).decode()
