"""Run damaged files through the readers, in a child that may die or hang.

python -m tests.fuzz.run 5000            5000 cases of every format
python -m tests.fuzz.run 5000 csv zarr   of these
"""

import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.child import case_of, outcome, sound_files
from tests.fuzz.seeds import SEEDS

ROOT = Path(__file__).parents[2]
SECONDS = 20.0
# Their libraries may hang or crash; the command line reads them in a child, and so does
# this runner when that happens.
ISOLATED = frozenset({"mat73", "h5ad", "h5mu", "zarr"})
# The first answer waits for imports.
START_SECONDS = 600.0


@dataclass
class Tally:
    """Outcomes by name; what should never happen, with the number of its case."""

    counts: Counter = field(default_factory=Counter)
    faults: list = field(default_factory=list)
    slowest: float = 0.0

    def add(self, case, outcome):
        name = outcome.split()[0]
        self.counts[name] += 1
        if name not in ("read", "refused", "isolated"):
            self.faults.append((case, outcome))


def fuzz(kind, n_cases, *, seed=0, folder=None):
    """Outcomes of cases 0 .. n_cases - 1; a case can be made again from its number."""
    if folder is None:
        with tempfile.TemporaryDirectory() as fresh:
            return fuzz(kind, n_cases, seed=seed, folder=fresh)
    tally, done = Tally(), 0
    while done < n_cases:
        done = _run_child(kind, seed, done, n_cases, folder, tally)
    return tally


def _run_child(kind, seed, first, last, folder, tally):
    """Run cases until the child ends or hangs; the number of the next case."""
    command = [sys.executable, "-m", "tests.fuzz.child", kind, str(seed)]
    errors = (Path(folder) / "stderr").open("w")
    child = subprocess.Popen(
        [*command, str(first), str(last), str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    lines = queue.Queue()
    reader = threading.Thread(target=_pump, args=(child.stdout, lines), daemon=True)
    reader.start()
    # A rerun in a child takes its time too.
    patience = SECONDS / 4 if kind in ISOLATED else SECONDS
    running, began = None, time.monotonic()
    try:
        while True:
            try:
                line = lines.get(timeout=START_SECONDS if running is None else patience)
            except queue.Empty:
                child.kill()
                died = f"hang over {patience:.0f} s"
                break
            if line is None:
                died = "crash"
                break
            word, case, *rest = line.split(maxsplit=2)
            if word == "begin":
                running, began = int(case), time.monotonic()
            else:
                tally.slowest = max(tally.slowest, time.monotonic() - began)
                tally.add(int(case), rest[0])
                first = int(case) + 1
    finally:
        child.kill()
        child.wait()
        reader.join()
        child.stdout.close()
        errors.close()
    if running is None:
        raise RuntimeError((Path(folder) / "stderr").read_text()[-2000:])
    if first <= running:
        if kind in ISOLATED:
            died = _isolated(kind, seed, running, folder, died)
        tally.add(running, died)
        return running + 1
    return first


def _isolated(kind, seed, case, folder, died):
    """What the command line makes of a case that this library cannot survive."""
    path = case_of(kind, seed, case, sound_files(kind, folder), folder)
    found = outcome(kind, path, isolate=True)
    if found == "refused":
        return f"isolated {died}"
    return found if found == "read" else f"{died}, isolated {found}"


def _pump(stream, lines):
    for line in stream:
        if line.startswith(("begin ", "end ")):
            lines.put(line)
    lines.put(None)


def main(n_cases, *kinds):
    total = 0
    for kind in kinds or SEEDS:
        began = time.monotonic()
        tally = fuzz(kind, int(n_cases))
        total += len(tally.faults)
        seconds = time.monotonic() - began
        print(
            f"{kind:8} {dict(tally.counts)} in {seconds:.0f} s, slowest case "
            f"{tally.slowest:.1f} s {tally.faults[:5] or ''}",
            flush=True,
        )
    return total


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
