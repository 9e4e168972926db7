"""``pellucid.viz``: pictures of graphs and runs, as files that open in any browser.

    with viz.record():                # optional: module names and source lines
        loss = model(x).sum()
    viz.graph(loss).save("graph.html")

The picture shows the ops that made ``loss``, what each computed and what it saved for
backward, grouped by module; the page folds and unfolds groups, searches, and shows the
backward graph as well. Nothing is loaded from a network. The parts, in order: record.py
(what is recorded during forward), collect.py (the autograd graph as data), tree.py
(groups), layers.py (placement), svg.py and page.py (the picture).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.viz.collect import collect
from pellucid.viz.drawing import Drawing
from pellucid.viz.record import record

if TYPE_CHECKING:
    from pellucid.nn import Module
    from pellucid.optim import Optimizer
    from pellucid.viz.training_report.report import TrainingReport

__all__ = ["Drawing", "graph", "record", "training"]


def graph(target: Any, model: Any = None, *, fold: int = 40) -> Drawing:
    """The graph behind ``target``: a tensor with a ``grad_fn``, or several.

    ``model`` names the parameters, and the modules of the ops that read them where
    ``record`` did not. Modules are folded at first until at most ``fold`` boxes are
    seen. Raises ValueError if nothing of ``target`` has a graph.

    Example::

        viz.graph(loss, model).save("graph.html")
    """
    return Drawing(collect(target, model), fold)


def training(
    path: str | Path, model: Module, optimizer: Optimizer, *, title: str = ""
) -> TrainingReport:
    """Watches a training loop and writes a report of it to ``path``, one HTML file:
    learning rates, norms of gradients (of all parameters and of each part of the
    model), where the steps' time went, and what the loop logs. The file is written at
    the end of the ``with`` block, whatever ends it, and every ten seconds before.

    Raises ValueError if ``path`` does not end in ``.html``, OSError if it cannot be
    written.

    Example::

        with viz.training("run.html", model, optimizer) as report:
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                report.log(loss=loss)
            report.show("digits", x[:8])  # pictures, or a text
    """
    from pellucid.viz.training_report.report import TrainingReport

    return TrainingReport(path, model, optimizer, title)
