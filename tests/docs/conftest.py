"""A desk to follow the pages at: a folder with a user's files, and a shell."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview.datasets import make_views
from tests.docs.pages import ROOT

# Stands in for pip: installs nothing, but knows the project's extras.
PIP = """#!{python}
import sys, tomllib
from packaging.requirements import Requirement
project = tomllib.load(open({pyproject!r}, "rb"))["project"]
assert sys.argv[1] == "install", sys.argv
for line in sys.argv[2:]:
    wanted = Requirement(line)
    assert wanted.name == project["name"], line
    assert wanted.extras <= set(project["optional-dependencies"]), line
"""
# Stands in for make: shows what the target would do.
MAKE = """#!/bin/sh
exec {make} --dry-run --directory {root} "$@"
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """The current folder, with the files that pages speak of."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = ("rna", "protein", "genes", "proteins", "clinic")
    data = make_views(150, 5, (8, 5, 8, 6, 3), random_state=0)
    samples = [f"s{i}" for i in range(150)]
    for name, view in zip(names, data.views, strict=True):
        columns = [f"{name}{j}" for j in range(view.shape[1])]
        table = pd.DataFrame(view, index=pd.Index(samples, name="id"), columns=columns)
        suffix, sep = (".tsv", "\t") if name == "clinic" else (".csv", ",")
        table[:120].to_csv(f"{name}{suffix}", sep=sep)
        table[120:].to_csv(f"new_{name}{suffix}", sep=sep)
    kinds = np.array(["T", "B", "NK", "mono", "other"])[data.target]
    pd.DataFrame({"id": samples, "cell_type": kinds})[:120].to_csv(
        "cell_types.csv", index=False
    )
    return folder


@pytest.fixture
def shell(tmp_path, desk):
    """Runs shell blocks; what they leave in the background ends with the test."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in {
        "pip": PIP.format(
            python=sys.executable, pyproject=str(ROOT / "pyproject.toml")
        ),
        "make": MAKE.format(make=shutil.which("make"), root=ROOT),
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(
            [str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
    }
    sessions = []

    def run(code):
        log = tmp_path / "shell.log"
        with log.open("w") as output:
            bash = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", code],
                cwd=desk,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        sessions.append(bash.pid)
        assert bash.wait() == 0, log.read_text()

    yield run
    for session in sessions:
        try:
            os.killpg(session, signal.SIGTERM)
        except ProcessLookupError:
            continue


@pytest.fixture
def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def cluster_services(monkeypatch):
    """Kubernetes and SLURM, played by a cluster on this machine."""
    from distributed import LocalCluster

    class Service(LocalCluster):
        def __init__(self, **asked):
            assert asked
            super().__init__(
                n_workers=1, threads_per_worker=1, processes=False, dashboard_address=""
            )

        def scale(self, n=None, *, jobs=None):
            assert (n is None) != (jobs is None)

    for module, name in {
        "dask_kubernetes.operator": "KubeCluster",
        "dask_jobqueue": "SLURMCluster",
    }.items():
        package = module.partition(".")[0]
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
        setattr(sys.modules[module], name, Service)
