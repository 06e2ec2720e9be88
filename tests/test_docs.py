"""The code blocks of the README and the documentation run, in order, page by page."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    *sorted(
        str(path.relative_to(ROOT))
        for folder in ("docs", "docs/guides")
        for path in (ROOT / folder).glob("*.md")
    ),
]
LOG = "run,t,level,flow,valve\n" + "".join(
    f"{run},{t / 10},{t * 0.1},{t * 0.2},{0.5 if t < 3 else ''}\n"
    for run in (1, 2)
    for t in range(4)
)


def _text(page: str) -> str:
    return (ROOT / page).read_text()


def _blocks(page: str) -> list[tuple[str, str]]:
    text = re.sub(
        r'^--8<-- "(.+)"$', lambda found: (ROOT / found[1]).read_text(), _text(page), flags=re.M
    )
    return re.findall(r"^```(python|sh)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page)])
def test_code_blocks_run(
    page: str, farstep: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # where the examples are
    (tmp_path / "log.csv").write_text(LOG)
    for example in (ROOT / "examples").glob("*.py"):
        (tmp_path / example.name).write_text(example.read_text())
    names: dict[str, object] = {}
    ran = 0
    for language, block in _blocks(page):
        if language == "python":
            exec(compile(block, page, "exec"), names)
            ran += 1
            continue
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["farstep"]:
                result = farstep(*words[1:])
                assert result.code == 0, f"{line}\n{result.err}"
                ran += 1
    assert ran


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str):
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", _text(page)):
        if "://" not in link:
            assert ((ROOT / page).parent / link).exists(), f"{page}: {link}"


def test_included_files_exist():
    for page in PAGES:
        for name in re.findall(r'--8<-- "([^"]+)"', _text(page)):
            assert (ROOT / name).exists(), f"{page}: {name}"
