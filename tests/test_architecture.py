"""Imports point one way: a file imports only from those above it in this list."""

import ast
from pathlib import Path

import farstep

LAYERS = [
    "errors",
    "packages",
    "choices",
    "fields",
    "sources",
    "json_numbers",
    "files",
    "progress",
    "processes",
    "machine",
    "programs",
    "tensors",
    "tensorboard",
    "signals",
    "policy",
    "checks",
    "episodes",
    "windows",
    "datasets",
    "systems",
    "dynamics",
    "rollout",
    "weights",
    "objective",
    "scoring",
    "model",
    "fitting",
    "imagination",
    "agents",
    "report",
    "evaluation",
    "runs",
    "loops",
    "recipes",
    "tuning",
    "exhibits",
    "doctor",
    "cli",
    "__main__",
]
ROOT = Path(farstep.__file__).parent


def _imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if node.module == "farstep" else {node.module or ""} | names
    inside = {name for name in found if name.split(".")[0] == "farstep"}
    return {name.removeprefix("farstep.") for name in inside}


def _layer(module: str) -> str:
    return module.split(".")[0]


def _modules() -> dict[str, Path]:
    paths = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}


def test_every_module_has_a_layer():
    assert {_layer(module) for module in _modules()} == set(LAYERS)


def _points_down(module: str, name: str) -> bool:
    if name == "__version__":
        return False
    # The package itself, or a public name of it, stands below everything.
    return _layer(name) not in LAYERS or LAYERS.index(_layer(name)) > LAYERS.index(_layer(module))


def test_imports_point_up_the_list():
    wrong = [
        f"{module} imports {name}"
        for module, path in _modules().items()
        for name in _imports(path)
        if _points_down(module, name)
    ]
    assert wrong == []


def test_no_cycles_within_a_package():
    modules = _modules()
    graph = {
        module: {name for name in _imports(path) if name in modules}
        for module, path in modules.items()
    }
    finished: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, f"cycle: {' → '.join([*trail, module])}"
        if module not in finished:
            for name in graph[module]:
                visit(name, (*trail, module))
            finished.add(module)

    for module in graph:
        visit(module, ())
    assert finished == set(modules)


def test_an_import_the_wrong_way_is_seen(tmp_path: Path):
    path = tmp_path / "errors.py"
    for line in (
        "from farstep.cli import main",
        "import farstep.windows",
        "import farstep as fs",
        "from farstep import collect",
        "from farstep import windows",
    ):
        path.write_text(f"def f():\n    {line}\n")
        assert any(_points_down("errors", name) for name in _imports(path)), line


def test_files_and_functions_stay_small():
    for path in Path(__file__).parents[1].glob("[bet]*s/**/*.py"):  # benchmarks, examples, tests
        assert len(path.read_text().splitlines()) <= 400, path
    for module, path in _modules().items():
        text = path.read_text()
        assert len(text.splitlines()) <= 400, module
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                assert node.end_lineno - node.lineno < 60, f"{module}.{node.name}"


def test_public_names_load_and_are_few():
    for name in farstep.__all__:
        assert getattr(farstep, name) is not None
    assert "Episodes" in farstep.__all__
    assert len(farstep.__all__) <= 26
