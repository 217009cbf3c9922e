"""Read damaged files, one after the other, and tell what came of each.

    python -m tests.fuzz.child FORMAT SEED FIRST LAST FOLDER

A line "begin i" is written before case i and "end i outcome" after it, so that the
parent knows which one killed this process or hangs.
"""

import random
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np

from tests.fuzz.mutate import (
    forge_model,
    mutate_bytes,
    mutate_folder,
    mutate_zip,
)
from tests.fuzz.seeds import SEEDS, repack_mat

MEMORY_BYTES = 4 << 30


def make_case(kind, rng, goods, path):
    """Write a damaged file to `path`."""
    good = rng.choice(goods)
    if good.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(good, path)
        mutate_folder(path, rng)
        return
    data = good.read_bytes()
    inside = rng.random() < 0.6
    if kind == "mvz" and inside:
        data = forge_model(data, rng)
    elif kind in ("npz", "mvz", "xlsx") and inside:
        data = mutate_zip(data, rng)
    elif kind == "mat" and inside:
        data = repack_mat(data, rng, mutate_bytes)
    else:
        data = mutate_bytes(data, rng)
    path.write_bytes(data)


def use(kind, path, **options):
    """Read the file and compute with what it holds."""
    if kind == "mvz":
        from manyview import load_imputer, load_model

        model, imputer = load_model(path), load_imputer(path)
        views = [np.ones((5, width)) for width in model._layout.n_features]
        if imputer is not None:
            views = imputer.transform(views)
        assert model.predict(views).shape == (5,)
        assert model.transform(views).shape == (5, model.n_clusters)
        return
    from manyview.datasets import read_views

    for view in read_views(path, **options).views:
        assert view.ndim == 2
        view @ np.ones(view.shape[1])


def outcome(kind, path, **options):
    from manyview.exceptions import DatasetError

    try:
        use(kind, path, **options)
    except DatasetError as error:
        if isinstance(error.__cause__, MemoryError):
            return "memory"
        return "refused" if len(str(error)) < 1500 else "long message"
    except Exception as error:  # noqa: BLE001 - to be told, whatever it is
        return f"raw {type(error).__name__}: {error}"
    return "read"


def limit_memory():
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def sound_files(kind, folder):
    name, makers = SEEDS[kind]
    goods = []
    for maker in makers:
        suffixes = "".join(Path(name).suffixes)
        good = Path(folder) / f"good-{maker.__name__}{suffixes}"
        if not good.exists():
            maker(good)
        goods.append(good)
    return goods


def case_of(kind, seed, i, goods, folder):
    """Path of damaged file number `i`."""
    path = Path(folder) / SEEDS[kind][0]
    make_case(kind, random.Random(f"{kind} {seed} {i}"), goods, path)
    return path


def main(kind, seed, first, last, folder):
    warnings.simplefilter("ignore")
    goods = sound_files(kind, folder)
    for good in goods:
        assert outcome(kind, good) == "read", f"{good}: {outcome(kind, good)}"
    limit_memory()
    for i in range(int(first), int(last)):
        print("begin", i, flush=True)
        path = case_of(kind, seed, i, goods, folder)
        line = " ".join(outcome(kind, path).split())
        print("end", i, line[:300], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
