"""Questions about tensors, each answered in a few lines of text.

``explain.view(t)``: what memory it shares. ``explain.gradient(w, loss)``: why ``.grad``
is None. ``explain.dtype(fn, *args)``: which line widened the result.
``explain.saved(loss)``: what is saved for the backward pass. Read viz/collect.py for
graphs, ``profiler/_timeline/log.py`` for calls.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pellucid._tensor import Tensor
from pellucid.profiler._timeline.log import Event, Kind, Log, Session, Watch
from pellucid.profiler._timeline.ops import op_of

_MOST = 20  # lines of an answer


def _recorded(what: Watch, fn: Callable[[], Any]) -> tuple[Log, Any]:
    """What the timeline recorded of a call, and its result."""
    session = Session(what)
    session.start()
    try:
        result = fn()
    finally:
        log = session.stop()
    return log, result


def _with_lines(
    log: Log, is_wanted: Callable[[Event], bool], title: str, among: slice
) -> list[str]:
    """The wanted events that the program itself called, with their lines."""
    found = [
        f"{event.name.removeprefix('aten::').partition('.')[0]} at {line}"
        for event in log.events_of(Kind.CALL, Kind.READ)
        if event.call is None and is_wanted(event)
        if (line := log.user_line(event.line)) is not None
    ]
    return [f"{title} {', '.join(found[among])}"] if found else []


def explain_view(tensor: Any, args: Any, kwargs: Any) -> str:
    """See `pellucid.explain.view`."""
    if not isinstance(tensor, Tensor):
        log, result = _recorded(
            Watch.LINES | Watch.FACTS, lambda: tensor(*args, **kwargs)
        )
        text = explain_view(result, (), {})
        made = _with_lines(log, _is_view, "views were made by", slice(-6, None))
        return "\n".join([text, *made])
    from pellucid.memory import holders
    from pellucid.memory._peak import readable

    shape, strides = list(tensor.shape), list(tensor.stride())
    nbytes = tensor.untyped_storage().nbytes()
    shared = f"a storage of {readable(nbytes)}"
    lines = [f"{_typed(tensor)} {shape}, strides {strides}, in {shared}"]
    used = tensor.numel() * tensor.element_size()
    if tensor._is_view():
        base = tensor._base
        assert base is not None
        offset = tensor.storage_offset() - base.storage_offset()
        lines.append(
            f"a view of {_typed(base)} {list(base.shape)}, from element {offset}: "
            f"{used / max(nbytes, 1):.0%} of the storage"
        )
    elif used < nbytes:
        lines.append(f"it uses {used / nbytes:.0%} of the storage")
    else:
        lines.append("not a view: it was made with memory of its own")
    names = holders(tensor)
    if names:
        lines.append(f"the storage is held by {', '.join(names[:8])}")
    lines.append(_flat(tensor))
    return "\n".join(lines[:_MOST])


def _is_view(event: Event) -> bool:
    try:
        return bool(op_of(event.name, event.arguments).kind == "view")
    except NotImplementedError:  # indexing without an op
        return event.kind is Kind.CALL and not event.arguments


def _flat(tensor: Tensor) -> str:
    """Whether ``reshape(-1)`` copies, and which dims do not merge."""
    sizes, strides = tensor.shape, tensor.stride()
    dims = [d for d in range(tensor.dim()) if sizes[d] != 1]
    for outer, inner in pairwise(dims):
        if strides[outer] != strides[inner] * sizes[inner]:
            return (
                f"reshape(-1) copies: dims {outer} and {inner} do not merge (strides "
                f"{strides[outer]}, {strides[inner]}, size {sizes[inner]})"
            )
    return "reshape(-1) is a view: all dims merge"


def _cuts_graph(event: Event) -> bool:
    return event.kind is Kind.READ or event.name in ("aten::detach", "aten::detach_")


def explain_gradient(tensor: Tensor, output: Any) -> str:
    """See `pellucid.explain.gradient`."""
    if not isinstance(output, Tensor):
        log, result = _recorded(Watch.LINES, output)
        text = explain_gradient(tensor, result)
        if text.startswith("reached"):
            return text
        cut = _with_lines(log, _cuts_graph, "the graph ends at", slice(6))
        return "\n".join([text, *cut])
    if not tensor.requires_grad:
        return "no gradient: requires_grad is False; call requires_grad_() before"
    if not output.requires_grad:
        return (
            "no gradient: the output has no graph; a detach(), item(), numpy(), an "
            "integer op or no_grad() came before it"
        )
    path = _path_to(output.grad_fn, tensor)
    if path is None:
        return (
            "no gradient: the output does not depend on it; between them is a "
            "detach(), item(), numpy() or no_grad(), or it is not used"
        )
    names = " -> ".join(path)
    if not tensor.is_leaf and not tensor.retains_grad:
        return f"reached by {names}, but not a leaf: call retain_grad() before backward"
    if tensor.grad is None:
        return f"reached by {names}: backward() was not called since, or cleared it"
    return f"reached by {names}: .grad has a norm of {tensor.grad.norm().item():.3g}"


def _path_to(root: Any, target: Tensor) -> list[str] | None:
    """Names of nodes from the root to a tensor's node; None if there is no path."""
    goal = target.grad_fn
    before: dict[Any, Any] = {root: None}
    waiting = [root]
    while waiting:
        node = waiting.pop(0)
        if node is goal or (goal is None and getattr(node, "variable", None) is target):
            names = []
            while node is not None:
                names.append(str(node.name()))
                node = before[node]
            return names[::-1] if len(names) <= 8 else [*names[:-5:-1], "...", names[0]]
        for following, _ in node.next_functions:
            if following is not None and following not in before:
                before[following] = node
                waiting.append(following)
    return None


def explain_dtype(fn: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """See `pellucid.explain.dtype`."""
    log, result = _recorded(Watch.FACTS | Watch.LINES, lambda: fn(*args, **kwargs))
    dtypes: list[tuple[str, str, set[str]]] = []
    for event in log.events:
        if event.kind is not Kind.CALL or event.parent is not None:
            continue
        given = {d for a in event.arguments for d in _dtypes(a)}
        if given:
            line = log.user_line(event.line)
            dtypes.append((event.name.removeprefix("aten::"), str(line or ""), given))
    mixed = [item for item in dtypes if len(item[2] & _FLOATS) > 1]
    found = _typed(result) if isinstance(result, Tensor) else type(result).__name__
    lines = [f"the result is {found}; {len(dtypes)} calls"]
    for name, place, given in mixed[: _MOST - 2]:
        widest = max(given & _FLOATS, key=_WIDTH.index)
        lines.append(f"{widest} since {place}  {name} of {', '.join(sorted(given))}")
    if not mixed:
        known = sorted({d for _, _, given in dtypes for d in given})
        lines.append(f"no call mixed floating dtypes: {', '.join(known)} throughout")
    return "\n".join(lines)


_WIDTH = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_FLOATS = set(_WIDTH)


def _dtypes(argument: Any) -> list[str]:
    items = argument if isinstance(argument, list) else [argument]
    return [item.dtype for item in items if hasattr(item, "strides")]


def explain_saved(target: Any) -> str:
    """See `pellucid.explain.saved`."""
    from pellucid.memory._live import address_of, nodes_behind, saved_by
    from pellucid.memory._peak import readable

    rows: dict[str, list[int]] = {}
    seen: set[int] = set()
    for node in nodes_behind(target):
        row = rows.setdefault(str(node.name()), [0, 0])
        row[0] += 1
        for tensor in saved_by(node):
            address = address_of(tensor)
            if address not in seen and not (tensor.is_leaf and tensor.requires_grad):
                seen.add(address)
                row[1] += tensor.untyped_storage().nbytes()
    total = sum(nbytes for _, nbytes in rows.values())
    ordered = sorted(rows.items(), key=lambda item: -item[1][1])
    lines = [f"{readable(total)} saved for backward, each storage counted once"]
    for name, (count, nbytes) in ordered[: _MOST - 2]:
        if nbytes:
            lines.append(f"{readable(nbytes):>12}  {name}, {count} of them")
    return "\n".join(lines)


def _typed(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
