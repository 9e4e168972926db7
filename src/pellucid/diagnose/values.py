"""Which expressions of a program compute the same values from the same values again.

Runs in a child process whose source ``instrument.py`` rewrote. Inputs and results are
compared by their contents, as fingerprints; those of a tensor are computed once for
each of its versions. Nothing is kept alive, and the run ends early once it has seen
enough. For a module in a loop over batches, rows are compared too: the same samples in
another order are the same work.
"""

from __future__ import annotations

import time
import types
import weakref
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from pellucid.diagnose.rows import Rows

SECONDS = 4.5  # of the CPU since the first call, at the most
_OWN = 1 / 3  # part of these for fingerprints
_ITEMS, _DEPTH, _TRIES = 256, 3, 100
_LOOKED_AT, _LARGE = 3, 1 << 16  # calls; elements of a large matrix
_PLAIN = (int, float, complex, str, bytes, bool, type(None))


@dataclass
class Answer:
    """About one expression: its calls, and how many of them computed a result again;
    ``seconds`` of these, and ``total`` of all; how many different ``inputs`` there
    were, and ``sources`` of results by contents, ``objects`` by identity; ``rows`` of
    batches, and how many again; ``outer``: the expressions that it was a part of;
    ``has_numbers``: results were plain values;
    ``kinds``: types of its inputs; ``distinct``: of each input, how many there were by
    contents; ``nonzero``: of each, the part of a large matrix that is not zero, else 1;
    ``one_hot``: of each, whether all its rows are one-hot; ``shapes``: of each that is
    a tensor without a gradient, else nothing;
    ``parts``: seconds of each eighth of its calls; ``last``: the moment of the last one
    that computed a result again, as a part of the time that was watched.
    """

    calls: int = 0
    again: int = 0
    seconds: float = 0.0
    total: float = 0.0
    inputs: int = 0
    sources: int = 0
    objects: int = 0
    rows: int = 0
    rows_again: int = 0
    has_numbers: bool = False
    row_seconds: float = 0.0
    outer: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    distinct: list[int] = field(default_factory=list)
    nonzero: list[float] = field(default_factory=list)
    one_hot: list[bool] = field(default_factory=list)
    shapes: list[list[int]] = field(default_factory=list)
    parts: list[float] = field(default_factory=list)
    last: float = 0.0


@dataclass(frozen=True)
class _Call:
    """Of the expression ``number``: the objects ``given`` to it, their fingerprints
    (``source``), and what it returned after ``took`` seconds.
    """

    number: int
    given: Any
    source: tuple[Any, ...]
    result: Any
    took: float


class Enough(BaseException):
    """Ends the run."""


class Values:
    """Answers for each number; `again` is what the rewritten source calls, for some
    seconds.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self.answers: dict[int, Answer] = {}
        self._seen: dict[int, set[Any]] = {}
        self._inputs: dict[int, set[Any]] = {}
        self._each: dict[int, list[set[Any]]] = {}
        self._objects: dict[int, set[Any]] = {}
        self._rows: dict[int, set[Any]] = {}
        self._running: list[int] = []
        self._tensors: dict[int, tuple[Any, int, Any, int]] = {}
        self._uniform = 0
        self.times: dict[int, list[float]] = {}
        self.rows = Rows()
        self._own = 0.0
        self._begin: float | None = None

    @property
    def seconds(self) -> float:
        """Of the CPU since the program's first expression, without fingerprints and
        what the first calls took longer than the others.
        """
        outermost = (n for n, answer in self.answers.items() if not answer.outer)
        times = [self.times.get(number) or [0.0] for number in outermost]
        first = sum(max(own[0] - sorted(own)[len(own) // 2], 0.0) for own in times)
        now = time.process_time()
        spent = now - (now if self._begin is None else self._begin) - self._own
        return max(spent - first, 0.0)

    @property
    def elapsed(self) -> float:
        """Of the CPU since the program's first expression."""
        now = time.process_time()
        return now - (now if self._begin is None else self._begin)

    def again(
        self, number: int, compute: Callable[[], Any], inputs: Callable[[], Any]
    ) -> Any:
        """What ``compute`` returns; remembers what it was computed from."""
        answer = self.answers.setdefault(number, Answer())
        begin = time.process_time()  # not the wall's: other programs have the cores
        if self._begin is None:
            self._begin = begin
        spent = begin - self._begin
        if self._own > _OWN * self._seconds or spent > self._seconds:
            raise Enough
        try:
            given = inputs()
            source = tuple(self._source(value) for value in given)
        except Exception:  # a name that is not bound yet, or a property that fails
            given, source = (), (None,)
        owned, start = self._own, time.process_time()
        self._own += start - begin
        self._running.append(number)
        try:
            result = compute()
        finally:
            self._running.pop()
        end = time.process_time()
        took = end - start - (self._own - owned - (start - begin))
        self._remember(answer, _Call(number, given, source, result, took))
        self._own += time.process_time() - end
        return result

    def _remember(self, answer: Answer, call: _Call) -> None:
        answer.calls += 1
        answer.total += call.took
        self.times.setdefault(call.number, []).append(call.took)
        answer.kinds += {type(v).__name__ for v in call.given} - {*answer.kinds}
        answer.outer += [n for n in self._running if n not in answer.outer]
        inputs = self._inputs.setdefault(call.number, set())
        inputs.add(call.source)
        answer.inputs = len(inputs)
        each = self._each.setdefault(call.number, [set() for _ in call.source])
        for values, value in zip(each, call.source, strict=False):
            values.add(value)
        answer.distinct = [len(values) for values in each]
        if answer.calls <= _LOOKED_AT:
            parts = [_nonzero(value) for value in call.given]
            known = answer.nonzero or parts
            answer.nonzero = list(map(max, known, parts))
            answer.shapes = list(map(_shape_of, call.given))
            pairs = zip(call.given, parts, strict=True)
            rows = [_has_one_hot_rows(value, part) for value, part in pairs]
            answer.one_hot = list(map(min, answer.one_hot or rows, rows))
        if answer.calls > _TRIES and not answer.again and not answer.rows_again:
            return
        is_plain = _is_plain(call.result)
        answer.has_numbers |= is_plain
        if None in call.source or not (is_plain or _holds_values(call.result)):
            return
        made = self._fingerprint(call.result)
        if made is None:
            return
        seen = self._seen.setdefault(call.number, set())
        objects = self._objects.setdefault(call.number, set())
        objects.add(tuple(v if isinstance(v, _PLAIN) else id(v) for v in call.given))
        answer.objects = len(objects)
        if (call.source, made) in seen:
            answer.again += 1
            answer.seconds += call.took
            answer.last = self.elapsed
            return
        seen.add((call.source, made))
        answer.sources = len(seen)
        self._compare_rows(answer, call)

    def _compare_rows(self, answer: Answer, call: _Call) -> None:
        """Of a module's call on a batch of different samples."""
        place = _batch_of(call.given, call.result)
        if place is None:
            return
        others = (*call.source[:place], *call.source[place + 1 :])
        rows = call.given[place].detach().numpy(force=True)
        seen = self._rows.setdefault(call.number, set())
        keys = [(others, zlib.crc32(row.tobytes())) for row in rows]
        if len(set(keys)) == 1:
            return  # made to warm up, or to find sizes
        again = sum(key in seen for key in keys)
        answer.last = self.elapsed if again else answer.last
        seen.update(keys)
        answer.rows += len(keys)
        answer.rows_again += again
        answer.row_seconds += call.took * again / max(len(keys), 1)

    def _source(self, value: Any) -> Any:
        """The fingerprint of an input. Another tensor with one value in all its places
        is another input: masks and counts are equal by chance.
        """
        made = self._fingerprint(value)
        known = self._tensors.get(id(value))
        if known is None or known[0]() is not value or not known[3]:
            return made
        return made, known[3]

    def _fingerprint(self, value: Any, depth: int = _DEPTH) -> Any:
        """A hashable that is equal for equal contents; None if there is none."""
        import numpy as np

        import pellucid as torch

        if value is None or isinstance(value, _PLAIN):
            return type(value).__name__, value
        if isinstance(value, torch.Tensor):
            return self._fingerprint_of_tensor(value)
        if isinstance(value, np.generic):
            return type(value).__name__, value.item()
        if isinstance(value, np.ndarray):
            return "array", value.shape, str(value.dtype), _hashed(value)
        if depth == 0:
            return "object", id(value)
        if isinstance(value, torch.nn.Module):
            return self._fingerprint_of_module(value)
        if isinstance(value, types.MethodType | types.BuiltinMethodType):
            own = self._fingerprint(value.__self__, depth - 1)
            return None if own is None else (value.__name__, own)
        if isinstance(value, dict | list | tuple):
            return self._fingerprint_of_items(value, depth)
        if isinstance(value, types.FunctionType | types.ModuleType | type):
            return "object", id(value)
        if hasattr(value, "__dict__"):
            return self._fingerprint_of_items(vars(value), depth)
        return "object", id(value)

    def _fingerprint_of_items(self, value: Any, depth: int) -> Any:
        if len(value) > _ITEMS:
            return None
        items = value.items() if isinstance(value, dict) else enumerate(value)
        prints = tuple((str(k), self._fingerprint(v, depth - 1)) for k, v in items)
        return None if any(p is None for _, p in prints) else prints

    def _fingerprint_of_module(self, module: Any) -> Any:
        tensors = [*module.parameters(), *module.buffers()]
        modes = tuple(inner.training for inner in module.modules())
        return "module", modes, tuple(self._fingerprint_of_tensor(t) for t in tensors)

    def _fingerprint_of_tensor(self, tensor: Any) -> Any:
        known = self._tensors.get(id(tensor))
        version = tensor._version if not tensor.is_inference() else -1
        if known is not None and known[0]() is tensor and known[1] == version >= 0:
            return known[2]
        try:
            arrays = [part.numpy(force=True) for part in _parts(tensor.detach())]
        except (RuntimeError, TypeError):  # a dtype or layout that NumPy lacks
            return None
        own = tuple((a.shape, str(a.dtype), _hashed(a)) for a in arrays)
        made = "tensor", tensor.requires_grad, tuple(tensor.shape), own
        self._uniform += 1
        number = self._uniform if all(map(_is_uniform, arrays)) else 0
        self._tensors[id(tensor)] = weakref.ref(tensor), version, made, number
        return made


def _parts(tensor: Any) -> list[Any]:
    """The strided tensors that a tensor consists of: a sparse one's indices, values."""
    import pellucid as torch

    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout == torch.sparse_csr:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return [tensor]


def _nonzero(value: Any) -> float:
    """The part of a large matrix that is not zero; 1 of others."""
    import pellucid as torch

    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return 1.0
    if value.dim() != 2 or value.numel() < _LARGE:
        return 1.0
    try:
        return float(value.detach().count_nonzero()) / value.numel()
    except RuntimeError:  # a quantized or meta tensor, or one of a transform
        return 1.0


def _shape_of(value: Any) -> list[int]:
    """Of a tensor that requires no gradient; of others nothing."""
    import pellucid as torch

    is_plain = isinstance(value, torch.Tensor) and not value.requires_grad
    return list(value.shape) if is_plain else []


def _has_one_hot_rows(value: Any, nonzero: float) -> bool:
    """Of a value of which `_nonzero` is a part."""
    if nonzero == 1.0 or nonzero * value.numel() != len(value):
        return False
    rows = value.detach()
    return bool((rows.count_nonzero(1) == 1).all() and (rows.sum(1) == 1).all())


def _is_plain(result: Any) -> bool:
    """Whether a result is a number, a text, or a sequence of these."""
    import numpy as np

    if isinstance(result, tuple | list):
        return 0 < len(result) <= _ITEMS and all(map(_is_plain, result))
    return isinstance(result, (*_PLAIN, np.generic)) and result is not None


def _hashed(array: Any) -> int:
    import numpy as np

    if array.dtype == object:
        return id(array)
    return zlib.crc32(np.ascontiguousarray(array).tobytes())


def _is_uniform(array: Any) -> bool:
    """Whether all elements, of several, are equal."""
    if array.size < 2 or array.flat[0] != array.flat[-1]:
        return False
    return bool((array == array.flat[0]).all())


def _holds_values(result: Any) -> bool:
    """Whether a result is tensors or arrays that can be kept: they have no graph."""
    import numpy as np

    import pellucid as torch

    if isinstance(result, torch.Tensor):
        return not result.requires_grad
    if isinstance(result, tuple | list) and 0 < len(result) <= 16:
        return all(map(_holds_values, result))
    return isinstance(result, np.ndarray) and result.size > 1


def _batch_of(given: Any, result: Any) -> int | None:
    """The place of a module's only tensor argument, if its rows are those of the
    result and the module does not train.
    """
    import pellucid as torch

    modules = [value for value in given if isinstance(value, torch.nn.Module)]
    tensors = [k for k, value in enumerate(given) if isinstance(value, torch.Tensor)]
    if len(modules) != 1 or modules[0].training or len(tensors) != 1:
        return None
    batch = given[tensors[0]]
    is_alike = isinstance(result, torch.Tensor) and result.dim() > 0 < batch.dim()
    if not is_alike or len(result) != len(batch) or len(batch) < 2:
        return None
    return tensors[0]


def answered(values: Values) -> dict[str, Any]:
    """What the parent process reads."""
    for number, times in values.times.items():
        size = max(len(times) // 8, 1)
        parts = [times[k * size : (k + 1) * size] for k in range(8)]
        values.answers[number].parts = [sum(p) / max(len(p), 1) for p in parts]
    for answer in values.answers.values():
        answer.last /= max(values.elapsed, 1e-9)
    answers = {str(number): asdict(answer) for number, answer in values.answers.items()}
    rows = values.rows.answer()
    return {"answers": answers, "seconds": values.seconds, "rows": rows}
