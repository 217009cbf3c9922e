"""The numbers behind a report: how sure, which views, which features, where."""

from manyview.explain._associations import Association, associate
from manyview.explain._features import (
    FeatureEffect,
    names_of_features,
    separating_features,
)
from manyview.explain._maps import SampleMap, map_samples
from manyview.explain._margins import Explanation, explain, explain_labels

__all__ = [
    "Association",
    "Explanation",
    "FeatureEffect",
    "SampleMap",
    "associate",
    "explain",
    "explain_labels",
    "map_samples",
    "names_of_features",
    "separating_features",
]
