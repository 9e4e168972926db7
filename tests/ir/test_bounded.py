"""The bounded dict evicts the least recently used entry."""

from pellucid_compiler.ir.bounded import Bounded


def test_the_entry_used_longest_ago_goes() -> None:
    actual: Bounded[str, int] = Bounded(3)
    actual.update({"a": 1, "b": 2, "c": 3})
    assert actual.get("a") == 1
    actual.put("d", 4)
    assert [actual.get(key) for key in "abcd"] == [1, None, 3, 4]


def test_many_keys_take_bounded_room() -> None:
    actual: Bounded[int, int] = Bounded(16)
    for k in range(10_000):
        actual.put(k, k)
        assert len(actual) <= 16
    assert actual.get(9_999) == 9_999
    assert actual.get(0) is None


def test_putting_again_replaces() -> None:
    actual: Bounded[str, int] = Bounded(2)
    actual.put("a", 1)
    actual.put("b", 2)
    actual.put("a", 3)
    actual.put("c", 4)
    assert (actual.get("a"), actual.get("b"), actual.get("c")) == (3, None, 4)
