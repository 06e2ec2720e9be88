"""The layout of the package: imports point one way, files and functions stay small."""

import ast
from pathlib import Path

import farstep

FOLDERS = [
    "errors",
    "choices",
    "settings",
    "runtime",
    "storage",
    "data",
    "systems",
    "models",
    "evaluation",
    "training",
    "model_env",
    "agents",
    "plotting",
    "workflows",
    "cli",
    "__main__",
]
"""A module imports only from its own folder and from those above it in this list."""
ROOT = Path(farstep.__file__).parent
REPOSITORY = Path(__file__).parents[2]
MAX_LINES, MAX_FUNCTION_LINES, MAX_ARGUMENTS = 400, 60, 10
_EXCEPTIONS = {"workflows.iterate.iterate": 12}
"""Functions with more arguments, each of which is a choice of the user."""


def _modules() -> dict[str, Path]:
    paths = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}


def _imports(tree: ast.AST) -> set[str]:
    """Return the names of the package that code imports, without `farstep.`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {n.removeprefix("farstep.") for n in found if n.split(".")[0] == "farstep"}


def _folder(module: str) -> str:
    return module.split(".")[0]


def _is_allowed(module: str, name: str) -> bool:
    if name == "__version__":
        return True
    if module.startswith("evaluation") and name.startswith("plotting"):
        return True  # `Evaluation.save` draws; it imports plotting when it is called
    known = _folder(name) in FOLDERS
    return known and FOLDERS.index(_folder(name)) <= FOLDERS.index(_folder(module))


def test_every_module_is_in_a_known_folder():
    assert {_folder(module) for module in _modules()} == set(FOLDERS)


def test_imports_point_up_the_list():
    wrong = [
        f"{module} imports {name}"
        for module, path in _modules().items()
        for name in _imports(ast.parse(path.read_text()))
        if not _is_allowed(module, name)
    ]
    assert wrong == []


def test_evaluation_imports_plotting_only_inside_functions():
    for module, path in _modules().items():
        if module.startswith("evaluation"):
            body = ast.parse(path.read_text()).body
            imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
            names = _imports(ast.Module(list(imports), []))
            assert not any(name.startswith("plotting") for name in names), module


def test_an_import_the_wrong_way_is_noticed():
    for line in (
        "from farstep.cli import main",
        "import farstep.data.windows",
        "import farstep as fs",
    ):
        assert not all(_is_allowed("errors", name) for name in _imports(ast.parse(line))), line


def test_no_cycles_between_modules():
    modules = _modules()
    graph = {
        module: {
            other
            for name in _imports(ast.parse(path.read_text()))
            for other in (name, name.rpartition(".")[0])
            if other in modules and not (module.startswith("evaluation") and "plotting" in other)
        }
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


def test_files_and_functions_stay_small():
    folders = ("src", "tests", "benchmarks", "examples", "reproduction")
    for path in (path for folder in folders for path in (REPOSITORY / folder).rglob("*.py")):
        assert len(path.read_text().splitlines()) <= MAX_LINES, path
    for module, path in _modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                assert node.end_lineno - node.lineno < MAX_FUNCTION_LINES, f"{module}.{node.name}"
                given = [a for a in (*node.args.args, *node.args.kwonlyargs) if a.arg != "self"]
                name = f"{module}.{node.name}"
                assert len(given) <= _EXCEPTIONS.get(name, MAX_ARGUMENTS), name


def test_public_names_load_and_are_few():
    for name in farstep.__all__:
        assert getattr(farstep, name) is not None
    assert "Episodes" in farstep.__all__
    assert len(farstep.__all__) <= 32
