"""Comparisons: protocols, resumable runs, tables beside the printed numbers."""

from manyview.bench._data import (
    BenchData,
    Corruption,
    DataRef,
    corrupt,
    describe_data,
    find_dataset,
    load_data,
)
from manyview.bench._methods import find_estimator, plugged_methods
from manyview.bench._plan import Run, plan_robustness, plan_tables, seed_for
from manyview.bench._protocol import (
    MethodEntry,
    Protocol,
    Robustness,
    TableRow,
    list_protocols,
    load_protocol,
)
from manyview.bench._published import PrintedCell, PrintedTable, printed_tables
from manyview.bench._runner import Progress, pending_runs, run_plan, usable_cores
from manyview.bench._store import Outcome, RunStore
from manyview.bench._tables import (
    Cell,
    Comparison,
    ResultRow,
    ResultTable,
    build_table,
)

__all__ = [
    "BenchData",
    "Cell",
    "Comparison",
    "Corruption",
    "DataRef",
    "MethodEntry",
    "Outcome",
    "PrintedCell",
    "PrintedTable",
    "Progress",
    "Protocol",
    "ResultRow",
    "ResultTable",
    "Robustness",
    "Run",
    "RunStore",
    "TableRow",
    "build_table",
    "corrupt",
    "describe_data",
    "find_dataset",
    "find_estimator",
    "list_protocols",
    "load_data",
    "load_protocol",
    "pending_runs",
    "plan_robustness",
    "plan_tables",
    "plugged_methods",
    "printed_tables",
    "run_plan",
    "seed_for",
    "usable_cores",
]
