"""Peak memory and time of processes, as the kernel of Linux counts them."""

import os
import resource
import threading
from pathlib import Path

INTERVAL = 0.05


def anonymous_bytes(pid):
    """Resident memory without mapped files: those pages are the disk's, not ours."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def cpu_seconds():
    """User and system time of this process."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


class PeakMemory:
    """Largest anonymous memory of each process while the block runs, in bytes.

    Sampled twenty times a second, because the kernel keeps no such peak.
    """

    def __init__(self, pids=None):
        self.pids = [os.getpid()] if pids is None else list(pids)
        self.before = {pid: anonymous_bytes(pid) for pid in self.pids}
        self.peak = dict(self.before)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()

    def above(self):
        """Largest growth of a process since the beginning."""
        return max(self.peak[pid] - self.before[pid] for pid in self.pids)

    def _watch(self):
        while not self._done.wait(INTERVAL):
            for pid in self.pids:
                self.peak[pid] = max(self.peak[pid], anonymous_bytes(pid))
