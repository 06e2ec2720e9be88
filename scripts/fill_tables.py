"""Copy the tables that commands stored into the pages that show them.

Usage: python scripts/fill_tables.py [--check]

A page says where a table comes from; it is copied, since not every reader of Markdown includes
files. With --check nothing is written, and a page with an old table is an error.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- from ", "<!-- end -->"
PLACE = re.compile(rf"^{BEGIN}(\S+) -->\n(?:(?!{BEGIN}).)*?^{END}$", re.DOTALL | re.MULTILINE)


def filled(page: str) -> str:
    """Return a page's text with its tables as they are stored."""
    if not page.count(BEGIN) == page.count(END) == len(PLACE.findall(page)):
        raise ValueError(f"every '{BEGIN}PATH -->' needs an '{END}', each on a line of its own")
    return PLACE.sub(
        lambda found: f"{BEGIN}{found[1]} -->\n\n{(ROOT / found[1]).read_text().strip()}\n\n{END}",
        page,
    )


def main(check: bool) -> None:
    """Write, or name, the pages whose tables are old."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name, text = path.relative_to(ROOT), path.read_text()
        try:
            new = filled(text)
        except (ValueError, OSError) as error:
            sys.exit(f"{name}: {error}")
        if new != text:
            if check:
                sys.exit(f"{name} has an old table; run make docs.")
            path.write_text(new)
            print(f"wrote {name}")


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    main(check=sys.argv[1:] == ["--check"])
