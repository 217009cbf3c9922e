"""The lock files hold what pyproject.toml asks for, by hash and from nowhere else."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {"demo": {"plot", "report"}, "test": {"test"}, "docs": {"docs"}}


def asked(extras):
    """Requirements of the project with these extras, and what installs it."""
    optional = PROJECT["project"]["optional-dependencies"]
    waiting = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["dependency-groups"]["build"],
        *(line for extra in extras for line in optional[extra]),
    ]
    while waiting:
        wanted = Requirement(waiting.pop())
        if wanted.name == "manyview":
            waiting += [line for extra in wanted.extras for line in optional[extra]]
        else:
            yield wanted


def locked(name):
    """Versions by package; a package may have several, for different Pythons."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    found = {}
    for entry in re.split(r"\n(?=[\w.-]+==)", text.partition("\n#")[2])[1:]:
        line, *hashes = entry.split("\\\n")
        pinned = Requirement(line)
        assert any("--hash=sha256:" in line for line in hashes), line
        (version,) = pinned.specifier
        found.setdefault(canonicalize_name(pinned.name), []).append(version.version)
    return found


@pytest.mark.parametrize("name", EXTRAS)
def test_lock_meets_the_bounds(name):
    versions = locked(name)
    for wanted in asked(EXTRAS[name]):
        for version in versions[canonicalize_name(wanted.name)]:
            assert version in wanted.specifier, f"{wanted}: {version}; run make lock"


@pytest.mark.parametrize("name", EXTRAS)
def test_lock_names_no_place(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
