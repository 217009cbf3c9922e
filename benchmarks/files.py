"""Reading files against pandas: time, first call and peak memory."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from benchmarks.ratio import compare, ratio_row
from manyview.datasets import read_views

CSV_SHAPE = (20_000, 200)
PARQUET_BYTES = 1 << 30
GROUP_ROWS = 100_000

FRESH = """
import sys, time
from pathlib import Path
begin = time.perf_counter()
{imports}
{read}
seconds = time.perf_counter() - begin
status = Path("/proc/self/status").read_text()
print(seconds, status.split("VmHWM:")[1].split()[0])
"""
READERS = {
    "ours": ("from manyview.datasets import read_views", "read_views([sys.argv[1]])"),
    ".csv": ("import pandas", "pandas.read_csv(sys.argv[1])"),
    ".parquet": ("import pandas", "pandas.read_parquet(sys.argv[1])"),
}


def write_csv(path, digits):
    """Normal numbers with so many decimals; None writes all digits they have."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=CSV_SHAPE))
    if digits is not None:
        frame = frame.round(digits)
    frame.add_prefix("f").to_csv(path, index=False)


def write_parquet(path, dtype):
    """About a gigabyte of normal numbers in groups of rows."""
    rng = np.random.default_rng(0)
    names = [f"f{i}" for i in range(CSV_SHAPE[1])]
    kind = pa.from_numpy_dtype(dtype)
    n_rows = PARQUET_BYTES // (len(names) * np.dtype(dtype).itemsize)
    schema = pa.schema([(name, kind) for name in names])
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as file:
        for start in range(0, n_rows, GROUP_ROWS):
            size = min(GROUP_ROWS, n_rows - start)
            columns = [rng.standard_normal(size, dtype=dtype) for _ in names]
            file.write_table(pa.table(columns, schema=schema))


def csv_files():
    """Numbers with all their digits, and short ones."""
    rows = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for name, digits in (("all digits", None), ("six decimals", 6)):
            path = Path(folder) / "numbers.csv"
            write_csv(path, digits)
            what = f"CSV of 20,000 x 200, {name}"
            rows += against_pandas(what, path, pd.read_csv)
    return rows


def parquet_files():
    """A gigabyte in several groups of rows, of both precisions."""
    rows = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for dtype in (np.float64, np.float32):
            path = Path(folder) / "numbers.parquet"
            # Written by another process, whose memory is not ours.
            code = (
                "import sys, numpy; from benchmarks.files import write_parquet; "
                f"write_parquet(sys.argv[1], numpy.{dtype.__name__})"
            )
            subprocess.run([sys.executable, "-c", code, path], check=True)
            what = f"Parquet of 1 GB, {dtype.__name__}"
            rows += against_pandas(what, path, pd.read_parquet)
    return rows


def against_pandas(name, path, peer):
    """Again and again in this process; then in new ones, where memory is measured."""
    again = compare(
        f"{name}, against pandas",
        lambda: len([read_views([path])]),
        lambda: len([peer(path)]),
        goal=1.1,
        repeats=5,
    )
    times, peaks = np.transpose([fresh(path, "ours"), fresh(path, path.suffix)])
    return [
        again,
        ratio_row(f"{name}, new process, imports included", *times, goal=1.1),
        ratio_row(f"{name}, peak memory of the process", *peaks / 1024, unit="MiB"),
    ]


def fresh(path, reader):
    """Median seconds and kB of three processes that import and read."""
    imports, read = READERS[reader]
    code = FRESH.format(imports=imports, read=read)
    measured = [
        subprocess.run(
            [sys.executable, "-c", code, path],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for _ in range(3)
    ]
    return np.median(np.array(measured, dtype=float), axis=0)


CASES = {
    "csv": (1, csv_files),
    "csv-2": (2, csv_files),
    "parquet": (2, parquet_files),
}
