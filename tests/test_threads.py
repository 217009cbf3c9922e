"""BLAS gets its threads back, whoever limited them and however that ended."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from manyview._threads import one_blas_thread
from manyview.cluster import NSMVC, ConcatKMeans


def blas_threads():
    return {
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    }


@pytest.fixture
def two_threads():
    """BLAS may use two threads, on any machine."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.num_threads for library in libraries]
    set_threads(libraries, [2] * len(before))
    if blas_threads() != {2}:
        pytest.skip("this BLAS has one thread")
    yield
    set_threads(libraries, before)


def set_threads(libraries, numbers):
    for library, number in zip(libraries, numbers, strict=True):
        library.set_num_threads(number)
        # Newer versions let only the thread that set a number set another.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


@pytest.mark.usefixtures("two_threads")
def test_the_last_user_lifts_the_limit():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert inside.wait(60)
        assert blas_threads() == {1}
    # The first user is gone, the second is not.
    assert blas_threads() == {1}
    leave.set()
    thread.join()
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("Estimator", [NSMVC, ConcatKMeans])
def test_concurrent_fits_restore_the_threads(Estimator, blobs):
    views, _ = blobs
    together = threading.Barrier(3)

    def fit(seed):
        # Every fit begins while the others are under way, and ends in any order.
        begun = []

        def meet(*_):
            if not begun:
                begun.append(True)
                together.wait(60)

        Estimator(3, n_init=1 + seed, random_state=seed).fit(views, on_iteration=meet)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_fit_restores_the_threads(n_jobs, blobs):
    def interrupt(restart, _):
        if restart == 1:
            raise KeyboardInterrupt

    before = set(threading.enumerate())
    # The exception keeps all frames of the fit alive; they must not hold the limit.
    with pytest.raises(KeyboardInterrupt) as caught:
        NSMVC(3, n_init=4, n_jobs=n_jobs, random_state=0).fit(
            blobs[0], on_iteration=interrupt
        )
    for thread in set(threading.enumerate()) - before:
        if not thread.daemon:
            thread.join(60)
    assert caught.value is not None
    assert blas_threads() == {2}
    assert np.all(np.isfinite(np.ones((50, 50)) @ np.ones((50, 50))))
