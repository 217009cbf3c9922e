"""A real cluster on this machine: processes, the network, and their ends."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from dask.delayed import Delayed
from distributed import Client, LocalCluster
from numpy.testing import assert_array_equal

from manyview import NSMVC
from manyview.distributed import DaskNSMVC
from manyview.exceptions import ClusterError, ViewError
from tests.distributed.problems import chunked, make_views
from tests.distributed.test_nsmvc import assert_same_fit

# Seconds after which a cluster that does not answer fails a test.
GUARD = 600
QUIET = {"dashboard_address": ":0", "host": "127.0.0.1", "silence_logs": 50}


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def _on_the_cluster(_in_this_thread, client):
    """Undo the scheduler that the other tests run on."""
    with client.as_current(), _scheduler("distributed"):
        yield


def _scheduler(name):
    return dask.config.set(scheduler=name)


def test_processes_find_what_one_machine_finds(tmp_path):
    views, _ = make_views(11, n_samples=3000)
    local = NSMVC(4, assignment="majorize", n_init=2, random_state=0).fit(views)
    lazy = chunked(views, (500, 700, 3000))
    for persist in ("memory", "disk"):
        model = DaskNSMVC(
            4,
            n_init=2,
            random_state=0,
            persist=persist,
            checkpoint=tmp_path / persist,
        ).fit(lazy)
        assert isinstance(model.labels_, da.Array)
        assert_same_fit(model, local)
    assert_array_equal(model.predict(lazy).compute(), local.predict(views))


def test_old_states_of_parts_are_let_go_while_new_ones_are_computed(
    client, monkeypatch
):
    views, labels = make_views(11, n_samples=600)
    held, compute = [], Delayed.compute

    async def all_callbacks_before_this_are_done():
        pass

    def count_and_compute(delayed, **options):
        client.sync(all_callbacks_before_this_are_done)
        keys = [str(key) for key in client.refcount]
        held.append(sum(key.startswith("operate-") for key in keys))
        return compute(delayed, **options)

    monkeypatch.setattr(Delayed, "compute", count_and_compute)
    DaskNSMVC(4, n_paces=2, init=labels).fit(chunked(views, (100,) * 3))
    assert set(held) == {0, 6}


def test_worker_errors_arrive_as_they_are():
    view = np.arange(60.0).reshape(30, 2)
    view[25, 1] = np.inf
    with pytest.raises(ViewError, match="row 25 contains infinity"):
        DaskNSMVC(3).fit([da.from_array(view, chunks=(10, -1))])


def test_lost_scheduler_is_told_in_one_sentence(tmp_path):
    views, _ = make_views(12, n_samples=2000)
    code = (
        "from distributed import LocalCluster; import sys\n"
        "if __name__ == '__main__':\n"
        "    c = LocalCluster(n_workers=1, threads_per_worker=1, host='127.0.0.1',"
        " dashboard_address=':0')\n"
        "    print(c.scheduler_address, flush=True); sys.stdin.read()\n"
    )
    script = tmp_path / "cluster.py"
    script.write_text(code)
    server = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,  # closed when these tests end, whichever way
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        address = server.stdout.readline().strip()
        lazy = chunked(views, (500, 700, 2000))
        folder = tmp_path / "checkpoint"

        def end_cluster(_restart, record):
            if record.iteration == 2:
                os.killpg(server.pid, signal.SIGKILL)

        with Client(address, timeout=GUARD, set_as_default=False) as other:
            other._timeout = 5  # how long it looks for a scheduler that is gone
            model = DaskNSMVC(4, random_state=0, n_init=1, checkpoint=folder)
            with other.as_current(), pytest.raises(ClusterError, match="go on from"):
                model.fit(lazy, on_iteration=end_cluster)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        server.stdin.close()
        server.stdout.close()
        server.wait()
    assert (folder / "state.npz").exists()
    again = model.fit(lazy)  # on the cluster of the other tests
    plain = DaskNSMVC(4, random_state=0, n_init=1).fit(lazy)
    assert_same_fit(again, plain)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_killed_workers_change_nothing():
    views, labels = make_views(13, n_samples=40_000)
    lazy = chunked(views, (4000, 4000, 4000))
    options = {"n_clusters": 4, "init": labels, "n_paces": 4, "max_iter": 10}
    # Else the cluster gives up a worker that takes more than 15 s to come back.
    patience = {"distributed.deploy.lost-worker-timeout": GUARD}
    with (
        dask.config.set(patience),
        LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster,
        Client(cluster) as client,
    ):
        expected = DaskNSMVC(**options).fit(lazy)
        labels_expected = expected.labels_.compute()
        rng = random.Random(0)
        for _ in range(10):
            client.wait_for_workers(2)
            pid = rng.choice(list(client.run(os.getpid).values()))
            # Anywhere within an iteration, not just after one.
            killer = threading.Timer(
                rng.uniform(0.0, 0.1), os.kill, (pid, signal.SIGKILL)
            )
            iterations = itertools.count(1)
            last = rng.randint(1, expected.n_iter_ // 2)

            def strike(*_, count=iterations, last=last, killer=killer):
                if next(count) == last:
                    killer.start()

            model = DaskNSMVC(**options).fit(lazy, on_iteration=strike)
            killer.join()
            assert_array_equal(model.labels_.compute(), labels_expected)
            assert model.n_iter_ == expected.n_iter_
            assert model.objective_ == expected.objective_


DRIVER = """
import sys
import numpy as np
from dask.delayed import Delayed
from distributed import Client, LocalCluster
from manyview.distributed import DaskNSMVC
from tests.distributed.problems import chunked, make_views

if __name__ == "__main__":
    folder, out = sys.argv[1:]
    views, _ = make_views(14, n_samples=40_000)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                     host="127.0.0.1", silence_logs=50) as cluster,
        Client(cluster),
    ):
        model = DaskNSMVC(4, n_init=2, n_paces=4, random_state=0, checkpoint=folder)
        model.fit(chunked(views, (4000, 4000, 4000)),
                  on_iteration=lambda *_: print("iteration", flush=True))
        np.save(out, model.labels_.compute())
"""


@pytest.mark.slow
def test_killed_drivers_are_taken_up(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    views, _ = make_views(14, n_samples=40_000)
    options = {"n_clusters": 4, "n_init": 2, "n_paces": 4, "random_state": 0}
    expected = DaskNSMVC(**options).fit(chunked(views, (4000, 4000, 4000)))
    n_iterations = 2 * expected.n_iter_
    rng, n_kills = random.Random(0), 0
    folder, out = tmp_path / "checkpoint", tmp_path / "labels.npy"

    def run(stop_after):
        """Start the driver; kill it, and all its processes, some iterations later."""
        driver = subprocess.Popen(
            [sys.executable, str(script), str(folder), str(out)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # The same manyview as here, wherever it was imported from.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        for seen, _ in enumerate(driver.stdout, start=1):
            if seen == stop_after:
                # Anywhere within an iteration, not just after one.
                time.sleep(rng.uniform(0.0, 0.1))
                os.killpg(driver.pid, signal.SIGKILL)
                break
        driver.stdout.close()
        return driver.wait()

    for _ in range(10):
        n_kills += run(rng.randint(1, max(2, n_iterations // 12))) != 0
    assert run(None) == 0
    assert n_kills == 10
    assert_array_equal(np.load(out), expected.labels_.compute())
