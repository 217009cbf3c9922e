"""Labels depend on the numbers alone, not on their form nor on the processor."""

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MACHINES = {
    "as it is": {},
    "AVX2": {"OPENBLAS_CORETYPE": "Haswell"},
    "SSE": {"OPENBLAS_CORETYPE": "Nehalem"},
    "generic": {"OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "generic"},
}


def differing(first, last, machines):
    """Problems with more than one digest, and where each digest came from.

    All forms of input are tried on this machine, one on those that it imitates.
    """
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    running = {
        machine: subprocess.Popen(
            [sys.executable, "-m", "tests.machine_problems", str(first), str(last)]
            + ["plain"] * bool(MACHINES[machine]),
            env={**os.environ, "PYTHONPATH": path, **MACHINES[machine]},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for machine in machines
    }
    found = defaultdict(lambda: defaultdict(list))
    for machine, process in running.items():
        lines = process.communicate()[0].splitlines()
        assert process.returncode == 0
        for line in lines:
            seed, name, form, digest = line.split()
            found[int(seed), name][digest].append(f"{machine}, {form}")
    assert len({seed for seed, _ in found}) == last - first
    return {key: dict(by) for key, by in found.items() if len(by) > 1}


def test_labels_depend_on_the_numbers_alone():
    assert differing(0, 12, ["as it is", "AVX2"]) == {}


@pytest.mark.slow
def test_labels_of_500_problems_depend_on_the_numbers_alone():
    assert differing(0, 500, list(MACHINES)) == {}
