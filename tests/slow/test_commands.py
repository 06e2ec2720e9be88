"""A command with code from the current directory, and its workers."""

import subprocess
import sys
from pathlib import Path

from farstep.data.dataset_files import read_dataset

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_system_and_a_policy_from_the_current_directory(tmp_path: Path):
    """With an environment that only this module registers, and two workers."""
    text = (EXAMPLES / "pendulum_system.py").read_text()
    entry = "gymnasium.envs.classic_control:PendulumEnv"
    register = f"import gymnasium\ngymnasium.register('Own-v0', '{entry}')\n"
    text = text.replace('"Pendulum-v1"', '"Own-v0"').replace("reward=reward,", "reward=None,")
    (tmp_path / "pendulum_system.py").write_text(register + text.replace("reset=reset,", ""))
    (tmp_path / "hold.py").write_text(
        "import numpy as np\n\n\ndef still(observations):\n    return np.zeros(1)\n"
    )
    command = [sys.executable, "-m", "farstep", "collect", "pendulum_system:pendulum"]
    options = ["--policy", "hold:still", "--episodes", "2", "--workers", "2", "--out", "data.csv"]
    done = subprocess.run(
        [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    data = read_dataset(tmp_path / "data.csv")
    assert data.system == "pendulum_system:pendulum"
    assert data.lengths.tolist() == [200, 200]
    assert not data.actions.any()
