"""The code blocks of the README and the documentation run, in order, page by page."""

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

import farstep as package
from farstep.datasets import shipped
from farstep.episodes import Episodes

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


def _shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut what the blocks run on: 20 shipped episodes of 150 steps, fewer rollouts and trials."""
    whole = shipped.load

    def load(name: str) -> Episodes:
        data = whole(name)
        parts = [one.part(0, 150) for one in data.take(range(20))]
        return Episodes.from_list(parts, data.signals, data.system, data.metadata)

    for module in (package, shipped):  # the package's own, before it is that of the other
        monkeypatch.setattr(module, "load", load)
    monkeypatch.setattr("farstep.loops.offline._EPISODES", 1)
    monkeypatch.setattr("farstep.scoring.calibration.STARTS", 32)
    monkeypatch.setattr("farstep.scoring.calibration.PARTICLES", 4)


def _in_this_process(words: list[str]) -> list[str]:
    """Return a command that starts no workers, which would import and compile all again."""
    several = words[0] in ("collect", "offline", "iterate") and "--workers" not in words
    return [*words, "--workers", "1"] if several else words


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page)])
def test_code_blocks_run(
    page: str, farstep: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if "farstep reproduce" not in _text(page):  # whose records are of the whole sets
        _shorten(monkeypatch)
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
                result = farstep(*_in_this_process(words[1:]))
                assert result.code == 0, f"{line}\n{result.err}"
                ran += 1
    assert ran


def _headings(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {slugify(line, "-") for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str):
    for link, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", _text(page)):
        if "://" in link:
            continue
        target = (ROOT / page).parent / link if link else ROOT / page
        assert target.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in _headings(target), f"{page}: {link}#{anchor}"


def test_a_heading_is_found_by_its_anchor(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("# The R²\n\n## How *far*, really?\n\n```sh\n# no heading\n```\n")
    assert _headings(page) == {"the-r2", "how-far-really"}


def test_the_site_builds_without_a_warning(tmp_path: Path):
    """With every command's help, every docstring, and every link and anchor that MkDocs sees."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    help_page = (tmp_path / "cli" / "index.html").read_text()
    assert "usage: farstep data convert" in help_page
    assert "usage: farstep doctor" in help_page


def test_the_reference_has_every_public_name():
    listed = re.findall(r"^::: farstep\.(.+)$", _text("docs/reference.md"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    public = {f"{getattr(package, name).__module__}.{name}" for name in package.__all__}
    assert public - {f"farstep.{name}" for name in listed} == set()
    assert f"The {len(public)} names" in _text("docs/reference.md")


def test_included_files_exist():
    for page in PAGES:
        for name in re.findall(r'--8<-- "([^"]+)"', _text(page)):
            assert (ROOT / name).exists(), f"{page}: {name}"


def test_tables_are_those_that_commands_stored():
    script = [sys.executable, ROOT / "scripts" / "fill_tables.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sum(_text(page).count("<!-- from ") for page in PAGES) > 40


def test_a_table_without_an_end_takes_no_prose_with_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    fill = importlib.import_module("fill_tables")
    start = "<!-- from LICENSE -->\n"
    assert fill.filled(f"a\n{start}old\n<!-- end -->\nb\n").count("Apache License") > 0
    for wrong in (f"{start}prose\n{start}\n<!-- end -->\n", f"  {start}\n<!-- end -->\n"):
        with pytest.raises(ValueError, match="on a line of its own"):
            fill.filled(wrong)
