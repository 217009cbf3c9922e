"""Views turned into views that are easier to cluster."""

from manyview.embedding._graph_views import GraphViews

__all__ = ["GraphViews"]
