"""
What does a first clustering look like?
=======================================

x
"""

from manyview import GraphNSMVC

print(GraphNSMVC)
