"""Damage files at random, many times: `python -m tests.slow.mutate --mutations 10000`.

Each format is read in a process of its own, so that a crash or a hang of a library is seen.
"""

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness import ROOT, Result, save
from tests.slow.formats import FORMATS
from tests.slow.survey import OTHER, REFUSED, SAME, mutated, watch_for_code

_LIMIT = 300.0
"""Seconds that reading a damaged file of a kilobyte may take on a busy machine."""


def in_a_process(name: str, numbers: range, memory: int = 8) -> dict[int, str]:
    """Return the outcome of each mutation; one that ends or stops the process is a fault."""
    found: dict[int, str] = {}
    while len(found) < len(numbers):
        rest = range(numbers.start + len(found), numbers.stop)
        with tempfile.TemporaryDirectory() as folder:
            arguments = [name, folder, str(rest.start), str(rest.stop), str(memory)]
            command = [sys.executable, "-m", "tests.slow.mutate", "--worker", *arguments]
            with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
                found |= dict(_lines(process))
            code = process.returncode
        if len(found) < len(numbers):
            number = numbers.start + len(found)
            found[number] = f"fault: ended the process with {code}" if code else "fault: no answer"
    return found


def _lines(process: "subprocess.Popen[str]") -> Iterator[tuple[int, str]]:
    """Yield what the process prints until it ends, or prints nothing for too long."""
    printed: queue.Queue[str | None] = queue.Queue()
    assert process.stdout is not None
    stream = process.stdout

    def listen() -> None:
        for line in stream:
            printed.put(line)
        printed.put(None)

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        while (line := printed.get(timeout=_LIMIT)) is not None:
            number, outcome = json.loads(line)
            yield number, outcome
    except queue.Empty:
        process.kill()
    thread.join()


def _worker(name: str, folder: str, start: str, stop: str, memory: str) -> None:
    import resource

    size = int(memory) * 10**9  # a length that was damaged must not take all memory
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    watch_for_code()
    for result in mutated(name, Path(folder), range(int(start), int(stop))):
        print(json.dumps(result), flush=True)


def table(found: dict[str, Counter[str]], mutations: int) -> Result:
    """Return counts by format."""
    rows = []
    for name, counts in found.items():
        faults = sum(count for outcome, count in counts.items() if outcome.startswith("fault"))
        row = [counts[REFUSED], counts[SAME], counts[OTHER], faults]
        rows.append([name, str(counts.total()), *map(str, row)])
    return Result(
        how="One to four random changes of bytes each; of models, policies and checkpoints every "
        "second one is of the contents instead, with correct checksums, and so is every second one "
        "of JSON files. A fault is another exception than a FarstepError of one line "
        "that names the file, a crash, no answer for five minutes, code that is run, or of a file "
        "with a checksum another result than what was written.",
        columns=["file", "mutations", REFUSED, SAME, OTHER, "faults"],
        rows=rows,
        command=f"python -m tests.slow.mutate --mutations {mutations}",
    )


def main(arguments: Sequence[str]) -> int:
    """Damage every format, print and store the table; the exit code is 1 if there is a fault."""
    if arguments[:1] == ["--worker"]:
        _worker(*arguments[1:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1_000_000)
    asked = parser.parse_args(arguments)
    found: dict[str, Counter[str]] = {}
    for name in FORMATS:
        numbers = range(asked.seed, asked.seed + asked.mutations)
        outcomes = in_a_process(name, numbers)
        found[name] = Counter(outcomes.values())
        print(name, dict(found[name].most_common(8)), flush=True)
        for number, outcome in outcomes.items():
            if outcome.startswith("fault"):
                print(f"  {number}: {outcome}", flush=True)
    print(save("mutations", table(found, asked.mutations)))
    return int(any(o.startswith("fault") for counts in found.values() for o in counts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
