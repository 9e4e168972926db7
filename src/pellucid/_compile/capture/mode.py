"""The function mode that captures graphs for a backend.

Recorded calls run on twins without data, which determines shapes and refuses calls that
need values. Before any other call the recorded segment runs, and each result that the
program still holds becomes the tensor that the backend's function computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pellucid
from pellucid import _C, Tensor
from pellucid._compile.capture.callables import Description, describe
from pellucid._compile.capture.segment import (
    Call,
    NotRecordable,
    Segment,
    fill,
)
from pellucid._compile.state import set_capture
from pellucid._compile.tensor_members import ON_CPU
from pellucid.overrides import TorchFunctionMode
from pellucid.utils import _pytree as pytree

BY_EXCEPTION: Final = "an exception leaves the callable"
_PACKAGE: Final = str(Path(pellucid.__file__).parent)


class CaptureMode(TorchFunctionMode):
    """Records a call of a compiled callable.

    ``execute(segment, outputs, reason)`` returns the tensors numbered ``outputs``;
    ``reason`` is the reason of the graph break, None at the end of the callable.
    ``refuse`` is called for graph breaks, and raises for ``fullgraph=True``.
    """

    def __init__(
        self,
        execute: Callable[[Segment, list[int], str | None], list[Tensor]],
        refuse: Callable[[str], None],
        notes_places: bool,
    ) -> None:
        super().__init__()
        self.execute, self.refuse = execute, refuse
        self.notes_places = notes_places
        self.segment = Segment()
        self.scope = _C._scope()
        self.is_running = False

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self.is_running:
            return func(*args, **kwargs)
        about = describe(func)
        if about.kind == "query" and args:
            return self._answer(func, about, args, kwargs)
        if about.kind in ("call", "data") and _C._scope() == self.scope:
            try:
                return self._record(func, about, args, kwargs)
            except Exception as error:
                # Ops that need values raise here, like NotRecordable
                # does; other errors are raised again by the call itself, below.
                reason = f"{about.name} cannot be part of a graph: {error}"
        else:
            reason = f"{about.name} needs a tensor's value"
        if not self._leaves_values_alone(about, args, kwargs):
            if not self.segment.calls:
                self.refuse(reason)
            self.run(reason)
        return func(*args, **kwargs)

    def _answer(self, func: Any, about: Description, args: Any, kwargs: Any) -> Any:
        number = self.segment.find(args[0]) if isinstance(args[0], Tensor) else None
        if number is None:
            return func(*args, **kwargs)
        if about.name == "device":
            return pellucid.device("cpu")
        if about.name in ON_CPU:
            return ON_CPU[about.name]
        return func(self.segment.twins[number], *args[1:], **kwargs)

    def _leaves_values_alone(self, about: Description, args: Any, kwargs: Any) -> bool:
        """Whether the call is independent of the recorded segment."""
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if _is_tensor(x)]
        if about.name in ("grad", "setting grad") and about.is_property:
            return not any(map(self.segment.is_result, tensors))
        if about.is_property or about.kind == "data":
            return not (self.segment.calls and tensors)
        return not tensors and not self.segment.calls

    def _record(self, func: Any, about: Description, args: Any, kwargs: Any) -> Any:
        segment = self.segment
        before = segment.mark()
        self._note_grad_mode()
        try:
            segment.key.append(func)
            stored = segment.store(args)
            stored_kwargs = segment.store(kwargs) if kwargs else {}
            tensors: dict[int, Tensor] = {}

            def twin(number: int) -> Tensor:
                return tensors.setdefault(number, segment.twins[number])

            numbers = segment.numbers.__getitem__
            own = fill(_without_device(stored), twin, numbers)
            own_kwargs = fill(_without_device(stored_kwargs), twin, numbers)
            if about.kind == "data" and not tensors:
                raise NotRecordable("it makes a tensor from Python data")
            if not tensors:
                own_kwargs.setdefault("device", "meta")
            versions = {n: t._version for n, t in tensors.items()}
            is_cpu = about.name == "cpu" and len(args) == 1
            result = own[0] if is_cpu else func(*own, **own_kwargs)
            written = [n for n, t in tensors.items() if t._version != versions[n]]
            given, results = segment.take_results(result)
            if results is None and not written:
                raise NotRecordable("its result is not a tensor")
        except BaseException:
            segment.forget(before)
            raise
        segment.written.update(written)
        place = place_of_program() if self.notes_places else None
        call = Call(func, about, stored, stored_kwargs, results, bool(written), place)
        segment.calls.append(call)
        return given

    def _note_grad_mode(self) -> None:
        segment, grad_mode = self.segment, pellucid.is_grad_enabled()
        if not segment.calls:
            segment.grad_mode = segment.last_grad_mode = grad_mode
        if grad_mode != segment.last_grad_mode:
            set_grad_mode(segment, grad_mode)

    def boundary(self, what: str) -> None:
        """Called by the runtime before operations that no mode intercepts."""
        if not self.is_running:
            self.run(f"{what} cannot be part of a graph")

    @contextmanager
    def paused(self, reason: str) -> Iterator[None]:
        """A scope in which calls run immediately."""
        self.run(reason)
        self.is_running = True
        try:
            with _without_function_modes():
                yield
        finally:
            self.is_running = False

    def run(self, reason: str | None) -> None:
        """Runs the recorded segment; the program's tensors have data afterwards."""
        segment, self.segment = self.segment, Segment()
        if not segment.calls:
            return
        outputs = segment.held_results()
        grad_mode = pellucid.is_grad_enabled()
        self.is_running = True
        try:
            with (
                _without_function_modes(),
                pellucid.set_grad_enabled(segment.grad_mode),
            ):
                if segment.last_grad_mode != segment.grad_mode:
                    set_grad_mode(segment, segment.grad_mode)
                results = self.execute(segment, outputs, reason)
                _give_results(segment, outputs, results)
        finally:
            self.is_running = False
            pellucid.set_grad_enabled(grad_mode)
            self.segment = Segment()


def set_grad_mode(segment: Segment, enabled: bool) -> None:
    """Records a switch of grad mode."""
    function = pellucid._C._set_grad_enabled
    about = Description("call", "_set_grad_enabled", target=function)
    segment.key.append((function, enabled))
    segment.calls.append(Call(function, about, (enabled,), {}, None, True, None))
    segment.last_grad_mode = enabled


def _give_results(segment: Segment, outputs: list[int], results: list[Tensor]) -> None:
    """Turns the tensors that the program holds into the results."""
    taken = {id(tensor) for _, tensor in segment.inputs()}
    for index, number in enumerate(outputs):
        result, results[index] = results[index], None  # type: ignore[call-overload]
        is_shared = id(result) in taken or sys.getrefcount(result) > 2
        if is_shared or type(result) is not Tensor:
            result = result.view_as(result)  # also referenced elsewhere: make an alias
        taken.add(id(result))
        _C._swap_tensors(segment.twins[number], result)


@contextmanager
def capturing(mode: CaptureMode) -> Iterator[None]:
    """A scope in which ``mode`` records; the last segment runs at its end."""
    before, reason = _C._set_boundary(mode.boundary), None
    set_capture(mode)
    try:
        with mode:
            yield
    except BaseException:
        reason = BY_EXCEPTION
        raise
    finally:
        set_capture(None)
        _C._set_boundary(before)
        mode.run(reason)


@contextmanager
def _without_function_modes() -> Iterator[None]:
    """A scope that hides a graph's calls from the program's modes, which have already
    seen them."""
    boundary = _C._set_boundary(None)
    mode = set_capture(None)
    modes = _C._take_torch_function_modes()
    try:
        yield
    finally:
        for each in modes:
            _C._push_torch_function_mode(each)
        set_capture(mode)
        _C._set_boundary(boundary)


def place_of_program() -> tuple[str, int, str] | None:
    """File, line and function of the program's innermost frame."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<")):
            return code.co_filename, frame.f_lineno, code.co_name
        frame = frame.f_back
    return None


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _without_device(stored: Any) -> Any:
    """Arguments with the meta device instead of the CPU."""
    kind = type(stored)
    if kind is tuple:
        return tuple(map(_without_device, stored))
    if kind is dict:
        return {name: _without_device(item) for name, item in stored.items()}
    is_cpu = (kind is pellucid.device and stored.type == "cpu") or (
        kind is str and stored == "cpu"
    )
    return "meta" if is_cpu else stored
