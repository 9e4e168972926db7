"""``pellucid.viz``: pictures of graphs, as files that open in any browser.

    with viz.record():                # optional: module names and source lines
        loss = model(x).sum()
    viz.graph(loss).save("graph.html")

The picture shows the ops that made ``loss``, what each computed and what it saved for
backward, grouped by module; the page folds and unfolds groups, searches, and shows the
backward graph as well. Nothing is loaded from a network. The parts, in order: record.py
(what is noted during forward), collect.py (the autograd graph as data), tree.py
(groups), layers.py (placement), svg.py and page.py (the picture).
"""

from __future__ import annotations

from typing import Any

from pellucid.viz.collect import collect
from pellucid.viz.drawing import Drawing
from pellucid.viz.record import record

__all__ = ["Drawing", "graph", "record"]


def graph(target: Any, model: Any = None, *, fold: int = 40) -> Drawing:
    """The graph behind ``target``: a tensor with a ``grad_fn``, or several.

    ``model`` names the parameters, and the modules of the ops that read them where
    ``record`` did not. Modules are folded at first until at most ``fold`` boxes are
    seen. Raises ValueError if nothing of ``target`` has a graph.

    Example::

        viz.graph(loss, model).save("graph.html")
    """
    return Drawing(collect(target, model), fold)
