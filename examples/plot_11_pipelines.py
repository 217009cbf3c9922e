"""
Does it work in a scikit-learn pipeline?
========================================

Pipelines and cross-validation cut rows out of one matrix, which they cannot do with a
list of views. So estimators also take one matrix with all columns side by side, and
``view_sizes`` says how many belong to each view.
"""

# %%
# A classifier learns digits from 200 samples. Its features are the distances to the
# centres of clusters (``transform``), which are learned from the same samples.

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyview import NSMVC
from manyview.datasets import load_handwritten

data = load_handwritten()
X = np.hstack(data.views)
sizes = [view.shape[1] for view in data.views]

pipeline = make_pipeline(
    NSMVC(view_sizes=sizes, n_init=2, random_state=0),
    StandardScaler(),
    LogisticRegression(max_iter=1000),
)

# %%
# Model selection sees the number of clusters as any other parameter. Here labels choose
# it: this is classification, and the score is the accuracy on the 1,800 samples held
# out.

from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit

search = GridSearchCV(
    pipeline,
    {"nsmvc__n_clusters": [5, 10, 20, 40]},
    cv=StratifiedShuffleSplit(3, train_size=0.1, random_state=0),
)
search.fit(X, data.target)
print(f"best: {search.best_params_}, accuracy {search.best_score_:.3f}")

# %%
import matplotlib.pyplot as plt

results = search.cv_results_
figure, ax = plt.subplots(layout="constrained")
ax.errorbar(
    results["param_nsmvc__n_clusters"].astype(int),
    results["mean_test_score"],
    yerr=results["std_test_score"],
    marker="o",
    capsize=3,
    color="#3b6fd4",
)
ax.axvline(10, color="0.7", linestyle=":")
ax.annotate("ten digits", (10.4, 0.72), color="0.4")
ax.set(xlabel="number of clusters", ylabel="accuracy on held-out digits", ylim=(0.7, 1))
plt.show()

# %%
# More clusters than digits are better features: a digit is written in several ways, and
# the classifier puts the parts together again.
