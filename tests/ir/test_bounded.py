"""The bounded dict forgets what was used longest ago."""

from pellucid_compiler.ir.bounded import Bounded


def test_the_entry_used_longest_ago_goes() -> None:
    found: Bounded[str, int] = Bounded(3)
    found.update({"a": 1, "b": 2, "c": 3})
    assert found.get("a") == 1
    found.put("d", 4)
    assert [found.get(key) for key in "abcd"] == [1, None, 3, 4]


def test_many_keys_take_bounded_room() -> None:
    found: Bounded[int, int] = Bounded(16)
    for k in range(10_000):
        found.put(k, k)
        assert len(found) <= 16
    assert found.get(9_999) == 9_999
    assert found.get(0) is None


def test_putting_again_replaces() -> None:
    found: Bounded[str, int] = Bounded(2)
    found.put("a", 1)
    found.put("b", 2)
    found.put("a", 3)
    found.put("c", 4)
    assert (found.get("a"), found.get("b"), found.get("c")) == (3, None, 4)
