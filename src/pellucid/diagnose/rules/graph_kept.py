"""A tensor of one step that keeps its graph, and thereby the step's memory, alive."""

from __future__ import annotations

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.keeping import Keeping, keeping_of
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """Statements that keep results of a loop with the graphs behind them."""
    evidence: dict[str, str] = {}
    for name, graphs in facts.settings.get("graphs", {}).items():
        evidence[name] = f"{name} holds {graphs} to the end"
    totals: dict[str, list[int]] = {}
    for entry in facts.settings.get("held", ()):
        for name in entry.graph_roots:
            nbytes, count = totals.get(name, [0, 0])
            totals[name] = [nbytes + entry.nbytes, max(count, entry.count)]
    for name, (nbytes, count) in totals.items():
        evidence[name] = (
            f"{nbytes / 2**20:.1f} MiB of {count} rounds live to the end, held by the "
            f"graph behind {name}"
        )
    findings = []
    for name, text in evidence.items():
        for place in keeping_of(facts.files, name):
            if not place.is_detached:
                findings.append(_finding(place, text))
    return findings


def _finding(place: Keeping, evidence: str) -> Finding:
    return Finding.at(
        place.file,
        place.line,
        kind="leak",
        evidence=evidence,
        fix="keep the numbers, not the graph: detach()",
        share=0.1,
        patch=place.detached(),
        is_certain=True,
        keeps_output=True,
    )
