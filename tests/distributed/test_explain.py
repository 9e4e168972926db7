"""``explain`` shows the sharding of calls on DTensors; texts in
tests/distributed/golden.

``PELLUCID_UPDATE_GOLDEN=1 pytest tests/distributed/test_explain.py`` rewrites them.
"""

import os
import re
from pathlib import Path

import pellucid as torch
from pellucid import explain
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.tensor import Replicate, Shard, distribute_tensor
from pellucid.nn import functional as F
from tests.distributed.ranks import ROOT, run_ranks

GOLDEN = Path(__file__).with_name("golden") / "explain.txt"
DOCUMENT = ROOT / "docs" / "distributed.md"


def shown(call):
    """The sections of calls on DTensors, and their lines in the table."""
    actual = [s for s in explain(call).sections if "  operands" in s.text]
    lines = ["  ".join(section.brief) for section in actual]
    return "\n\n".join(["\n".join(lines), *(section.text for section in actual)])


def rank_explains(rank, size):
    mesh = init_device_mesh("cpu", (size,))

    def placed(shape, placement):
        return distribute_tensor(torch.randn(shape), mesh, [placement])

    x, whole = placed((64, 256), Shard(0)), placed((64, 256), Replicate())
    weight, bias = placed((512, 256), Shard(1)), placed((512,), Replicate())
    columns = placed((64, 4096), Shard(1))
    for _ in range(2):  # a repeated call is explained like the first one
        texts = [
            shown(lambda: F.linear(x, weight, bias)),
            shown(lambda: (x + whole).relu()),
            shown(lambda: columns.softmax(1)),
            shown(lambda: torch.cat([x, whole]).sum(0)),
            shown(lambda: x.unique()),
        ]
    plane = init_device_mesh("cpu", (1, size))
    both = distribute_tensor(torch.randn(8, 8), plane, [Shard(0), Shard(1)])
    texts.append(shown(lambda: both.t() @ both))
    print("\n\n".join(texts))


def test_calls_on_parts_are_explained(tmp_path):
    text, other = run_ranks(rank_explains, 2, tmp_path)
    if os.environ.get("PELLUCID_UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == other == GOLDEN.read_text()


def rank_explains_buckets(rank, size):
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4)))
    parallel = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.3)
    x = torch.randn(64, 256)
    print(explain.buckets(lambda: parallel(x).sum().backward()))
    if rank == 0:
        print(explain.buckets(lambda: model[0](x).sum()))


def test_buckets_say_how_much_of_them_backward_hides(tmp_path):
    text, other = run_ranks(rank_explains_buckets, 2, tmp_path)
    *lines, alone = text.splitlines()
    assert alone.startswith("no bucket of gradients was reduced")
    for head, columns, *rows in (lines, other.splitlines()):
        assert re.fullmatch(
            r"\d buckets; backward [\d.]+ ms, then [\d.]+ ms of waiting; \d+% of their "
            "time is hidden by it",
            head,
        )
        assert columns.split() == ["bucket", "size", "full", "at", "reduced", "hidden"]
        assert [int(row.split()[0]) for row in rows] == list(range(len(rows)))
        full = [float(row.split()[3]) for row in rows]
        assert len(rows) >= 2 and full == sorted(full)
        assert rows[-1].endswith(" 0%")  # nothing is left to compute meanwhile


def test_the_document_shows_one_of_them():
    sections = GOLDEN.read_text().split("\n\n")
    linear = next(text for text in sections if text.startswith("aten::linear"))
    assert linear in DOCUMENT.read_text()


def test_calls_without_dtensors_have_no_notes():
    x = torch.ones(2, 2)
    assert "operands" not in explain(lambda: x + x).more
