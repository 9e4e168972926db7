"""Arguments: every way PyTorch lets a call be written, and clear refusals."""

import pytest

import pellucid as torch

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.view(4),
        lambda: X.view((4,)),
        lambda: X.view([4]),
        lambda: X.view(size=(4,)),
        lambda: X.view(torch.Size([4])),
        lambda: X.view(torch.tensor(4)),
        lambda: X.reshape(-1),
    ],
)
def test_sizes_come_loose_or_in_a_sequence(call):
    assert call().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_numpys_names_of_arguments():
    assert X.sum(axis=0, keepdims=True).tolist() == [[4.0, 6.0]]
    assert torch.sum(input=X, dim=1).tolist() == [3.0, 7.0]


def test_numbers_where_tensors_are_expected():
    assert torch.add(1, X).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert torch.add(X, X, alpha=2).tolist() == [[3.0, 6.0], [9.0, 12.0]]


def test_out_none_means_no_out():
    assert torch.exp(torch.zeros(1), out=None).tolist() == [1.0]


def test_factories_take_requires_grad():
    assert torch.empty(2, requires_grad=True).requires_grad
    assert torch.zeros((2, 3)).shape == (2, 3) == torch.zeros(2, 3).shape


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.exp(2.0), ["exp()", "'input'", "Tensor", "float"]),
        (lambda: torch.exp(), ["exp()", "missing", "'input'"]),
        (lambda: torch.exp(X, X), ["exp()", "positional"]),
        (lambda: torch.exp(X, beta=2), ["exp()", "'beta'"]),
        (lambda: X.exp(out=X), ["exp()", "'out'"]),
        (lambda: X.view("a"), ["view()", "size", "dtype", "str"]),
        (lambda: torch.cat(X), ["cat()", "'tensors'", "tuple of Tensors"]),
        (lambda: torch.cat([X, 1]), ["cat()", "'tensors'"]),
        (lambda: X + "text", ["+"]),
        (lambda: X + None, ["+"]),
    ],
)
def test_wrong_arguments_are_type_errors_in_the_words_of_the_call(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert len(message.splitlines()) <= 10


def test_several_forms_are_listed():
    with pytest.raises(TypeError) as caught:
        X.max("a", "b")
    assert "forms:" in str(caught.value) and "max(int dim" in str(caught.value)


def test_absurd_numbers_are_refused():
    with pytest.raises(RuntimeError):
        torch.empty(2**62)
    with pytest.raises(OverflowError):
        torch.add(X, 2**70)


def test_named_results():
    result = X.max(1)
    assert type(result).__name__ == "max"
    assert result.values.tolist() == [2.0, 4.0] and result.indices.tolist() == [1, 1]
    values, _ = result
    assert values is result[0]


def test_every_op_of_the_table_is_callable_by_name():
    assert torch.add.__name__ == "add" and torch.Tensor.add.__name__ == "add"
    assert torch.ops.aten.add.Tensor(X, X).tolist() == (X + X).tolist()
    assert "Tensor" in torch.ops.aten.add.overloads()
    with pytest.raises(AttributeError):
        torch.ops.aten.no_such_op  # noqa: B018
