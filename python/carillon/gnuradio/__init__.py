"""GNU Radio 3.10 under control.

These modules run in the Python that has GNU Radio, which is the system's, and import nothing but
it, NumPy and the standard library. Graphs, costs and plans are made in Carillon's own Python
(carillon.flowgraph.grc); what the two tell each other is JSON.
"""
