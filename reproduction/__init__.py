"""The paper's tables and figures, computed again: ``python -m reproduction``."""
