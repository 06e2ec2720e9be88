"""The documentation: every code block runs, every link leads somewhere, the site builds."""

import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

import farstep as package
from tests.slow.small_sizes import limit_stable_baselines3, use_small_sizes

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
RUN = [page for page in PAGES if not page.startswith("docs/lab/")]
"""The lab notebook has commands of the past."""
LOG = "run,t,level,flow,valve\n" + "".join(
    f"{run},{t / 10},{t * run % 7 * 0.1 + t * 0.01},{(t + run) % 5},{t % 3 if t < 79 else ''}\n"
    for run in range(10)
    for t in range(80)
)
"""Ten runs; no action follows the last observation of each."""


def _text(page: str) -> str:
    return (ROOT / page).read_text()


def _blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and the code of each block, with included files."""
    included = re.sub(
        r'^( *)--8<-- "(.+)"$',
        lambda found: textwrap.indent((ROOT / found[2]).read_text(), found[1]),
        _text(page),
        flags=re.MULTILINE,
    )
    blocks = re.findall(r"^( *)```(python|sh)\n(.*?)^\1```$", included, re.MULTILINE | re.DOTALL)
    return [(language, textwrap.dedent(code)) for _, language, code in blocks]


@pytest.mark.filterwarnings("ignore::farstep.errors.DataWarning")  # of tiny models
@pytest.mark.filterwarnings("ignore:.*:UserWarning:stable_baselines3")
@pytest.mark.parametrize("page", [page for page in RUN if _blocks(page)])
def test_code_blocks_run(
    page: str, farstep: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    use_small_sizes(monkeypatch)
    if "stable_baselines3" in _text(page):
        limit_stable_baselines3(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # where the examples are
    (tmp_path / "log.csv").write_text(LOG)
    for example in (ROOT / "examples").glob("*.py"):
        (tmp_path / example.name).write_text(example.read_text())
    names: dict[str, object] = {"__name__": "page"}
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


def _headings(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {slugify(line, "-") for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES)
def test_links_and_included_files_exist(page: str):
    for link, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", _text(page)):
        if "://" in link:
            continue
        target = (ROOT / page).parent / link if link else ROOT / page
        assert target.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in _headings(target), f"{page}: {link}#{anchor}"
    for name in re.findall(r'--8<-- "([^"]+)"', _text(page)):
        assert (ROOT / name).exists(), f"{page}: {name}"


def test_a_heading_is_found_by_its_anchor(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("# The R²\n\n## How *far*, really?\n\n```sh\n# no heading\n```\n")
    assert _headings(page) == {"the-r2", "how-far-really"}


def test_the_site_builds_without_a_warning(tmp_path: Path):
    """With every command's help, every docstring, and every link and anchor that MkDocs sees."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    help_page = (tmp_path / "reference" / "command_line" / "index.html").read_text()
    for command in ("data convert", "doctor", "offline", "train-agent"):
        assert f"farstep {command}" in help_page


def test_the_reference_has_every_public_name():
    page = _text("docs/reference/python.md")
    listed = re.findall(r"^::: farstep\.(.+)$", page, re.MULTILINE)
    assert len(listed) == len(set(listed))
    stub = _text("src/farstep/__init__.pyi")
    public = re.findall(r"^from \.(\S+) import (\w+) as", stub, re.MULTILINE)
    assert {name for _, name in public} == set(package.__all__)
    assert {f"{module}.{name}" for module, name in public} - set(listed) == set()


def test_tables_are_those_that_commands_stored():
    script = [sys.executable, ROOT / "scripts" / "fill_tables.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert any("<!-- from " in _text(page) for page in PAGES)
