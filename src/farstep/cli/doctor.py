"""`farstep doctor`."""

import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Doctor:
    """Check versions, threads, accelerators, pictures, writing, shipped data and extras.

    Every line says what was found and, where something is amiss, what to do. The exit code is 1 if
    something will fail.

    Example: farstep doctor
    """

    out: Path = Path()
    """Where you mean to write results."""

    def run(self) -> None:
        """Print what was found."""
        from farstep.doctor import doctor

        marks = {"ok": "ok  ", "note": "note", "bad": "BAD "}
        found = doctor(self.out)
        for one in found:
            advice = f" → {one.advice}" if one.advice else ""
            print(f"{marks[one.state]}  {one.what}: {one.found}{advice}")
        if any(one.state == "bad" for one in found):
            sys.exit(1)
