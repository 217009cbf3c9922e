"""
Can it cluster words and links?
===============================

Pages have words and links to each other: two large matrices of counts, almost all of
them zero. Sparse matrices go in as they are and are never made dense.
"""

# %%
# 600 made-up pages about four topics. A page has about 40 of 3,000 words, one in seven
# of them from its topic; a page links more often to pages of its topic.

import numpy as np
from scipy import sparse

rng = np.random.default_rng(0)
n_pages, n_words, n_topics = 600, 3000, 4
topic = rng.integers(n_topics, size=n_pages)

common = rng.dirichlet(np.full(n_words, 0.3))
special = rng.dirichlet(np.full(n_words, 0.02), size=n_topics)
words = sparse.csr_array(
    [rng.multinomial(40, 0.85 * common + 0.15 * special[t]) for t in topic], dtype=float
)
same = topic[:, None] == topic
linked = rng.random((n_pages, n_pages)) < np.where(same, 0.02, 0.006)
links = sparse.csr_array((linked | linked.T).astype(float))
for name, view in {"words": words, "links": links}.items():
    print(f"{name}: {view.nnz / np.prod(view.shape):.2%} filled")

# %%
# ``scale="auto"`` sees that the views are mostly zero and gives their rows unit length,
# so that long pages and hubs do not count more than others.

from manyview import GraphNSMVC
from manyview.metrics import nmi_score

model = GraphNSMVC(n_clusters=4, random_state=0)
scores = {
    "words": nmi_score(topic, model.fit_predict([words])),
    "links": nmi_score(topic, model.fit_predict([links])),
    "both": nmi_score(topic, model.fit_predict({"words": words, "links": links})),
}

import matplotlib.pyplot as plt

order = np.lexsort((np.arange(n_pages), topic))
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
left.spy(links[order][:, order], markersize=0.4, color="#3b6fd4")
left.set(title="links, pages sorted by topic", xticks=[], yticks=[])
right.bar(list(scores), list(scores.values()), color=["#7a8794", "#7a8794", "#2a9d6f"])
right.set(title="agreement with the topics (NMI)", ylim=(0, 1))
plt.show()

# %%
# Each view alone is not enough. Together they are better than the better one, as their
# mistakes are different ones.
