"""Anomaly mode: the forward line, the op that wrote, the first NaN and its element."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

import pellucid as torch

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection")


def leaf(values: list) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


class MakesNan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * math.nan


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        raise ValueError("no gradient")


def test_an_error_of_a_python_backward_passes_with_its_forward_line() -> None:
    with torch.autograd.detect_anomaly():
        y = Raises.apply(leaf([1.0]))
        with (
            pytest.raises(ValueError, match="no gradient"),
            pytest.warns(UserWarning, match="Raises.apply"),
        ):
            y.backward()


def test_an_error_passes_although_its_lines_cannot_be_formatted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with torch.autograd.detect_anomaly():
        y = Raises.apply(leaf([1.0]))
        monkeypatch.setattr("traceback.format_list", None)
        with pytest.warns(UserWarning) as warned:
            error = None
            try:
                y.backward()
            except ValueError as caught:
                error = caught
        monkeypatch.undo()
    assert str(error) == "no gradient"
    assert "could not be formatted" in str(warned[0].message)


def test_a_version_error_names_the_op_and_line_that_wrote() -> None:
    with torch.autograd.detect_anomaly():
        y = leaf([1.0]).exp()
        y.add_(1.0)
        with (
            pytest.raises(RuntimeError) as error,
            pytest.warns(UserWarning, match="exp"),
        ):
            y.backward()
    message = str(error.value)
    assert "changed by aten::add_" in message
    assert "y.add_(1.0)" in message
    assert len(message.splitlines()) <= 10


def test_a_nan_gradient_names_the_first_op_and_element() -> None:
    with torch.autograd.detect_anomaly():
        x = leaf([1.0, 0.0])
        loss = (x.log() * torch.tensor([1.0, 0.0])).sum()
        with (
            pytest.raises(RuntimeError) as error,
            pytest.warns(UserWarning, match="log"),
        ):
            loss.backward()
    message = str(error.value)
    assert "LogBackward0 returned nan values in its output number 0" in message
    assert "aten::log made -inf at element [1]" in message
    assert "x.log()" in message


def test_a_nan_made_by_backward_names_its_node() -> None:
    with torch.autograd.detect_anomaly():
        y = MakesNan.apply(leaf([1.0, 2.0]))
        with (
            pytest.raises(RuntimeError) as error,
            pytest.warns(UserWarning, match="apply"),
        ):
            y.sum().backward()
    assert "in the backward pass (MakesNanBackward)" in str(error.value)
    assert "first at element [0]" in str(error.value)


def test_nan_passes_unless_it_is_looked_for() -> None:
    x = leaf([1.0])
    with torch.autograd.detect_anomaly(check_nan=False):
        MakesNan.apply(x).backward()
    assert math.isnan(x.grad.item())
    MakesNan.apply(x).backward()


def test_every_thread_has_its_own_mode() -> None:
    actual = []

    def ask() -> None:
        actual.append(torch.is_anomaly_enabled())
        actual.append(torch.is_anomaly_check_nan_enabled())

    with torch.autograd.detect_anomaly(check_nan=False):
        other = threading.Thread(target=ask)
        other.start()
        other.join()
    assert actual == [False, True]


def test_the_first_infinity_is_found_on_request() -> None:
    from pellucid.autograd.anomaly_mode import first_non_finite

    with torch.autograd.detect_anomaly():
        torch.tensor([[1.0, 2.0], [0.0, 3.0]]).log()
        torch.tensor([0.0]).log()
        assert "aten::log made -inf at element [1, 0]" in first_non_finite()
    with torch.autograd.detect_anomaly():
        assert first_non_finite() == ""
