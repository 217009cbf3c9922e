"""Print the oldest versions that pyproject.toml allows, as pip constraints."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest_versions(project: Path = PROJECT) -> dict[str, str]:
    """Map every dependency with a lower bound to that bound."""
    described = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = [*described["dependencies"]]
    for extra in described["optional-dependencies"].values():
        wanted += extra
    found: dict[str, str] = {}
    for line in wanted:
        parts = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?>=([\d.]+)", line)
        if parts is None:  # the project's own extras, pinned and unbounded tools
            continue
        name, version = parts.groups()
        if found.setdefault(name, version) != version:
            message = f"{name} has two lower bounds: {found[name]} and {version}"
            raise ValueError(message)
    return found


if __name__ == "__main__":
    for name, version in sorted(oldest_versions().items()):
        print(f"{name}=={version}")
