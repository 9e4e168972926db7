"""A backward pass into a module that the next optimizer step does not change.

``fake = G(z); loss = ... D(fake) ...; loss.backward(); opt_d.step()``: what the pass
computes for ``G`` is thrown away.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE = 0.05


def find(facts: Facts) -> list[Finding]:
    """Arguments of trained modules that other modules with optimizers made."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        trained = dict(_optimizers(tree))
        modules = set().union(*trained.values()) if trained else set()
        for node in ast.walk(tree) if tree else ():
            block = getattr(node, "body", None)
            if len(trained) < 2 or not isinstance(block, list):
                continue
            for call, argument, maker in _undetached(block, trained, modules):
                share = facts.share_of(facts.within(file, maker).total)
                if share < _SHARE:
                    continue
                name = ast.unparse(argument)
                findings.append(
                    Finding.at(
                        file,
                        call.lineno,
                        kind="waste",
                        evidence=f"backward goes on into what made {name} (line "
                        f"{maker.lineno}), whose gradients the next step does not read",
                        fix=f"{ast.unparse(call.func)}({name}.detach())",
                        share=share,
                        patch=replaced_nodes(file, [(argument, f"{name}.detach()")]),
                        keeps_output=True,
                    )
                )
    return findings


def _optimizers(tree: ast.Module | None) -> Iterator[tuple[str, set[str]]]:
    """Of each optimizer's variable the modules whose parameters it was given."""
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        owners = {
            ast.unparse(inner.func.value)
            for inner in ast.walk(node.value)
            if isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr == "parameters"
        }
        if owners:
            yield ast.unparse(node.targets[0]), owners


def _undetached(
    block: list[ast.stmt], trained: dict[str, set[str]], modules: set[str]
) -> Iterator[tuple[ast.Call, ast.expr, ast.Assign]]:
    """(the call of a trained module, its argument, the statement that made that)."""
    made: dict[str, ast.Assign] = {}
    uses: list[tuple[ast.Call, ast.expr, ast.Assign]] = []
    is_backward = False
    for statement in block:
        if hasattr(statement, "body"):
            continue
        for call in (n for n in ast.walk(statement) if isinstance(n, ast.Call)):
            function = ast.unparse(call.func)
            for argument in call.args:
                maker = made.get(ast.unparse(argument))
                if function in modules and maker is not None:
                    uses.append((call, argument, maker))
            is_backward |= function.endswith(".backward")
            if function.endswith(".step") and is_backward:
                own = trained.get(function.removesuffix(".step"), set())
                yield from (
                    use
                    for use in uses
                    if ast.unparse(use[0].func) in own and _module_of(use[2]) not in own
                )
                uses, is_backward = [], False
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            is_module = ast.unparse(statement.value.func) in modules
            for target in statement.targets:
                made.pop(ast.unparse(target), None)
                if is_module:
                    made[ast.unparse(target)] = statement


def _module_of(maker: ast.Assign) -> str:
    assert isinstance(maker.value, ast.Call)
    return ast.unparse(maker.value.func)
