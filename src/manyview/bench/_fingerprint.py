"""Which code a run used: a hash that changes when, and only when, that code does.

A version number alone would mix results of two states of a checkout. The hash covers
the estimator's module and every module of the same package it imports, directly or
not, without comments and docstrings.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from manyview.bench._methods import find_estimator

# Scores are part of what a run reports, whatever the method.
SCORING = "manyview.metrics._scores"


@cache
def code_version(estimator: str) -> str:
    """Version of the estimator's package and a hash of the code behind it."""
    factory = find_estimator(estimator)
    module = factory.__module__
    sources = _closure(module) | _closure(SCORING)
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(f"{name}\n{sources[name]}\n".encode())
    return f"{_package_version(module)}+{digest.hexdigest()[:10]}"


def _package_version(module: str) -> str:
    package = module.partition(".")[0]
    # An editable install is not listed by its package, but found by its name.
    for distribution in [*packages_distributions().get(package, []), package]:
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "0"


def _closure(module: str) -> dict[str, str]:
    """Code by module name: the module and what it imports of its own package."""
    package = module.partition(".")[0]
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _source_path(name)
        if path is None:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        home = name if path.name == "__init__.py" else name.rpartition(".")[0]
        names = _imports(tree, home)
        waiting += [m for m in names if m.partition(".")[0] == package]
        # A package's __init__ only gathers names; the modules behind them count.
        found[name] = "" if path.name == "__init__.py" else _code(tree)
    return found


@cache
def _source_path(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(tree: ast.Module, home: str) -> list[str]:
    """Imports anywhere in a module of package `home`; names may be modules too."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = importlib.util.resolve_name(
                "." * node.level + (node.module or ""), home
            )
            names.append(origin)
            names += [f"{origin}.{alias.name}" for alias in node.names]
    return names


def _code(tree: ast.Module) -> str:
    """The module as code alone: the parser drops comments, this drops docstrings."""
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
