"""The pass manager: pipelines are data, and every pass has a name.

``run_passes`` runs the passes of a pipeline in order. If ``PELLUCID_VERIFY`` is set, as
in the tests, the Graph is verified after each pass, and a violation names the pass. An
``observe`` function receives a text of what each pass did, which ``pellucid.explain``
shows. Called by lower/graph.py; the pipelines are in lower/pipelines.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from pellucid_compiler.ir.graph import Graph, VerificationError
from pellucid_compiler.ir.verify import verify


class Pass(NamedTuple):
    """A semantics-preserving Graph-to-Graph function, and its name."""

    name: str
    run: Callable[[Graph], Graph]


class Stage(NamedTuple):
    """What a pass did to a Graph: its text and number of nodes before and after."""

    name: str
    before: str
    after: str
    nodes_before: int
    nodes_after: int

    @property
    def changed(self) -> bool:
        """Whether more than the Graph's name differs."""
        return self.before.partition("(")[2] != self.after.partition("(")[2]


Observer: TypeAlias = Callable[[Stage], None]


def run_passes(
    graph: Graph, passes: Sequence[Pass], observe: Observer | None = None
) -> Graph:
    """``graph`` after all of ``passes``."""
    verifies = bool(os.environ.get("PELLUCID_VERIFY"))
    text = repr(graph) if observe else ""
    for each in passes:
        count = len(graph.nodes)
        graph = each.run(graph)
        if verifies:
            _verify_after(each, graph)
        if observe:
            before, text = text, repr(graph)
            observe(Stage(each.name, before, text, count, len(graph.nodes)))
    return graph


def _verify_after(ran: Pass, graph: Graph) -> None:
    try:
        verify(graph)
    except VerificationError as error:
        raise VerificationError(f"after the pass {ran.name}: {error}") from None
