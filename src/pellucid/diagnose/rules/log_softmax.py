"""The logarithm of a softmax: two passes, and -inf where the softmax is 0."""

from __future__ import annotations

from pellucid.diagnose.edits import replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_PATTERNS = (
    (r"torch\.log\(torch\.softmax\(([^()]*)\)\)", r"torch.log_softmax(\1)"),
    (r"\.softmax\(([^()]*)\)\.log\(\)", r".log_softmax(\1)"),
    (r"torch\.log\((\w+\.)softmax\(([^()]*)\)\)", r"\1log_softmax(\2)"),
)


def find(facts: Facts) -> list[Finding]:
    """Lines with both, where they take a tenth of the time."""
    findings = []
    for entry in facts.lines.values():
        line, share = entry.line, facts.share_of(entry.total)
        patches = (replaced(line.file, line.number, *pair) for pair in _PATTERNS)
        patch = next((patch for patch in patches if patch is not None), None)
        if share < 0.1 or patch is None:
            continue
        findings.append(
            Finding.at(
                line.file,
                line.number,
                kind="waste",
                evidence=f"{share:.0%} of the time: the logarithm of a softmax",
                fix="log_softmax: one pass, and finite where the softmax is 0",
                share=share,
                patch=patch,
            )
        )
    return findings
