"""``torch.utils.weak``: entries of dicts by identity end with their keys."""

import gc

import pytest

import pellucid as torch
from pellucid.utils.weak import TensorWeakRef, WeakIdKeyDictionary


def test_entries_are_by_identity_and_end_with_their_keys():
    a, b = torch.ones(2), torch.ones(2)
    notes = WeakIdKeyDictionary({a: 1})
    notes[b] = 2
    assert (notes[a], notes[b], len(notes)) == (1, 2, 2)
    assert a in notes and torch.ones(2) not in notes and 3 not in notes
    del b
    gc.collect()
    assert len(notes) == 1 and next(iter(notes)) is a
    assert notes.copy()[a] == 1
    del notes[a]
    with pytest.raises(KeyError):
        notes[a]


def test_references_to_tensors_end_with_them():
    x = torch.ones(2)
    reference = TensorWeakRef(x)
    assert reference() is x
    del x
    gc.collect()
    assert reference() is None
    with pytest.raises(TypeError, match="a tensor"):
        TensorWeakRef(3)
