"""Data flows one way: a module imports from its own layer or from layers before it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "manyview"

# Leftmost first. Modules on one line are one layer.
LAYERS = [
    {
        "exceptions",
        "_typing",
        "_sklearn_compat",
        "_extras",
        "_version",
        "_random",
        "_threads",
        "_files",
        "_zarr",
    },
    {"_names", "_arrays", "_annotated"},
    {"_views"},
    {"_scaling", "_numerics"},
    {"_rows", "_results"},
    {"_solvers", "_view_input"},
    {"embedding", "impute"},
    {"cluster", "distributed"},
    {"metrics", "datasets"},
    {"explain", "model_selection", "_model_arrays", "_model_content", "_model_file"},
    {"plotting", "reporting", "omics"},
    {"cli", "__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
# Layers that must not know each other although neither is to the other's right.
STRANGERS = {("datasets", "cluster"), ("metrics", "cluster")}

MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"
)


def layer_of(path):
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def imported_layers(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module]
            if node.module == "manyview":
                names = [f"manyview.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "manyview" and len(parts) > 1:
                yield parts[1]


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_go_with_the_flow(path):
    here = layer_of(path)
    for there in imported_layers(path):
        if there == "__version__":
            continue
        assert RANK[there] <= RANK[here], f"{here} imports {there}, to its right"
        assert (here, there) not in STRANGERS, f"{here} must not know {there}"


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_the_package_does_not_know_the_reproduction(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        assert not any(name.split(".")[0] == "reproduction" for name in names)


OPTIONAL = ["numba", "matplotlib", "dask", "plotly", "pooch", "typer", "h5py"]
HEAVY = [*OPTIONAL, "numpy", "scipy", "sklearn", "pandas"]
COMMAND = "from manyview.cli import app; app({!r}, standalone_mode=False)"


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import manyview", HEAVY),
        ("from manyview import NSMVC, GraphViews, report", OPTIONAL),
        (COMMAND.format(["--version"]), set(HEAVY) - {"typer"}),
        (COMMAND.format(["--help"]), set(HEAVY) - {"typer"}),
        (COMMAND.format(["cluster", "--help"]), set(HEAVY) - {"typer"}),
    ],
)
def test_import_is_light(code, heavy):
    """Seconds of imports are felt by whoever wants to know the version."""
    tell = f"print('loaded', [m for m in {sorted(heavy)!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{tell}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_names_of_the_package_are_all_there():
    import manyview

    assert set(manyview.cluster.__all__) <= set(manyview.__all__)
    for name in manyview.__all__:
        assert getattr(manyview, name) is not None
    assert set(manyview.__all__) <= set(dir(manyview))
    with pytest.raises(AttributeError, match="no attribute 'NoSuchMethod'"):
        manyview.NoSuchMethod  # noqa: B018 - the access is the test


def test_private_scikit_learn_names_stay_in_one_module():
    for path in MODULES:
        if path.name == "_sklearn_compat.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "sklearn"
            ):
                private = [part for part in node.module.split(".") if part[0] == "_"]
                assert not private, f"{path} imports {node.module}"
