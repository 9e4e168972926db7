"""Peaks to the byte, holders, leaks, snapshots, refused allocations."""

import gc
import pickle
from types import SimpleNamespace

import pytest

import pellucid as torch
from pellucid import _C, memory, nn
from pellucid.memory import _failure
from pellucid.memory._peak import BEFORE, OWN, block_curve, record

# `torch.cuda.memory.__all__` of PyTorch.
CUDA_NAMES = """
    CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete
    caching_allocator_disabled caching_allocator_enable change_current_allocator
    empty_cache get_allocator_backend get_per_process_memory_fraction host_memory_stats
    host_memory_stats_as_nested_dict list_gpu_processes max_memory_allocated
    max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached
    memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict
    memory_summary reset_accumulated_host_memory_stats reset_accumulated_memory_stats
    reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats
    reset_peak_memory_stats set_per_process_memory_fraction use_mem_pool
"""


def training():
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(128, 64)

    def step():
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()

    step()
    return step


def test_the_peak_sums_to_the_byte():
    actual = memory.peak(training())
    assert sum(row.nbytes for row in actual.rows) == actual.nbytes
    for what in ("line", "module", "op", "phase", "role"):
        assert sum(actual.by(what).values()) == actual.nbytes
    assert all(row.nbytes >= 0 for row in actual.rows)
    roles = actual.by("role")
    parameters = 4 * (64 * 256 + 256 + 256 * 64 + 64)
    assert roles["parameter"] >= parameters
    assert roles["optimizer"] >= 2 * parameters
    assert roles["saved"] >= 4 * 128 * 256
    lines = actual.by("line")
    assert {BEFORE, OWN} < set(lines)
    assert any("test_memory.py" in line for line in lines)
    assert "peak" in str(actual) and actual.at


def test_blocks_end_at_the_allocators_count():
    step = training()
    start, log = record(step, (), {})
    assert block_curve(log, start)[-1][1] == _C._memory_statistics()["allocated_bytes"]


def test_bytes_are_reported_by_five_keys():
    with pytest.raises(ValueError, match="by line, module, op, phase, role"):
        memory.peak(training()).by("colour")


class Keeper:
    def __init__(self, value):
        self.running = value


def test_holders_are_variables_attributes_lists_and_graphs():
    tensor = torch.randn(50)
    keeper = Keeper(tensor)
    rows = [tensor[:5]]
    weight = torch.randn(50, requires_grad=True)
    loss = (tensor * weight).sum() + 1
    actual = memory.holders(tensor)
    assert any(name.startswith("tensor (test_memory.py:") for name in actual)
    assert "Keeper.running" in actual
    assert any(name.startswith("rows[0] (test_memory.py:") for name in actual)
    chain = "-> AddBackward0 -> SumBackward0 -> saved by MulBackward0"
    assert any(name.startswith("loss (") and chain in name for name in actual)
    assert keeper and rows and loss is not None


def test_a_leak_is_named_with_its_holder():
    weight = torch.randn(1000, requires_grad=True)
    kept = []

    def fit():
        energy = (weight * weight).sum()
        kept.append(energy * 2)

    (largest, *_) = memory.leaks(fit)
    assert "test_memory.py" in largest.line and largest.op in ("mul.Tensor", "sum")
    assert any(name.startswith("kept[") for name in largest.holders)
    sound = memory.leaks(lambda: kept[0].detach().exp().sum())
    assert sound == []


def test_snapshots_have_pytorchs_layout(tmp_path):
    memory.record_history()
    try:
        kept = torch.ones(1000)
        torch.ones(500).exp()
        memory.dump_snapshot(tmp_path / "s.pickle")
    finally:
        memory.record_history(None)
    actual = pickle.loads((tmp_path / "s.pickle").read_bytes())
    assert set(actual) >= {"segments", "device_traces", "allocator_settings"}
    actions = [entry["action"] for entry in actual["device_traces"][0]]
    assert actions.count("alloc") >= 3 and actions.count("free_completed") >= 2
    assert actions.count("free_requested") == actions.count("free_completed")
    (segment,) = [s for s in actual["segments"] if s["total_size"] == kept.nbytes]
    (block,) = segment["blocks"]
    assert block["state"] == "active_allocated"
    assert block["frames"][0]["filename"].endswith("test_memory.py")
    with pytest.raises(RuntimeError, match="record_history"):
        memory.snapshot()


@pytest.fixture
def unread(monkeypatch):
    """As if no allocation had failed in the last seconds."""
    monkeypatch.setattr(_failure, "_last", float("-inf"))
    monkeypatch.setattr(_failure, "_PATIENCE", float("inf"))


@pytest.mark.usefixtures("unread")
def test_a_refused_allocation_says_who_holds_most():
    kept = torch.empty(8 << 20)
    text = "there is not enough memory for %d bytes"
    lines = _failure.explain(text % kept.nbytes).splitlines()
    assert len(lines) <= 10 and lines[0] == text % kept.nbytes
    assert lines[1].startswith("Live: ") and lines[1].endswith("Largest:")
    assert any("kept (test_memory.py:" in line for line in lines)
    again = text % kept.nbytes
    assert _failure.explain(again) == again  # a moment later
    assert _failure.explain(text % 64) == text % 64


@pytest.mark.usefixtures("unread")
def test_a_refused_allocation_names_the_batch_that_fits():
    x = torch.randn(32, 1 << 16, requires_grad=True)
    loss = x.exp().sin().exp().sum()
    lines = _failure.explain(f"not enough memory for {x.nbytes} bytes").splitlines()
    assert len(lines) <= 10 and loss.requires_grad
    assert "a batch of 21 instead of 32. utils.checkpoint frees" in lines[-1]


@pytest.mark.usefixtures("unread")
def test_a_request_larger_than_live_memory_is_reported_at_once():
    with pytest.raises(RuntimeError, match="not enough memory") as refused:
        torch.empty(1 << 45)
    lines = str(refused.value).splitlines()
    assert len(lines) == 3 and lines[1].startswith("Live: ")
    assert "compute it in parts" in lines[2]


@pytest.mark.usefixtures("unread")
def test_the_search_for_holders_ends(monkeypatch):
    monkeypatch.setattr(_failure, "_PATIENCE", -1.0)
    kept = torch.empty(8 << 20)
    actual = _failure.explain(f"there is not enough memory for {kept.nbytes} bytes")
    assert "of unknown holder" in actual


def test_the_summary_adds_up():
    lines = memory.summary().splitlines()
    assert len(lines) == 8 and "live blocks" in lines[0]
    free = [nbytes for _, nbytes, _, is_free, _, _ in _C._large_blocks() if is_free]
    assert f"the largest of {len(free)} free parts" in lines[2]
    counts = memory.stats()
    assert counts["peak_reserved_bytes"] >= counts["reserved_bytes"] > 0


def test_a_view_whose_history_is_ambiguous_does_not_stop_the_search():
    base = torch.randn(3, requires_grad=True) * 1
    with torch.no_grad():
        view = base.view(3)
    base.add_(1)
    with pytest.raises(RuntimeError, match="ambiguous"):
        _ = view.grad_fn
    assert any(
        name.startswith("view (test_memory.py:") for name in memory.holders(view)
    )


def test_the_cpu_answers_by_the_names_of_cuda_memory():
    names = torch.cpu.memory.__all__
    assert all(getattr(torch.cpu, n) is getattr(torch.cpu.memory, n) for n in names)
    before = torch.cpu.memory_allocated()
    kept = torch.empty(1 << 20)
    assert torch.cpu.memory_allocated() - before >= 4 << 20
    torch.cpu.reset_peak_memory_stats()
    floor = torch.cpu.memory_stats()["allocated_bytes.all.current"]
    assert torch.cpu.max_memory_allocated() <= floor + (1 << 20)
    torch.empty(1 << 22)
    stats = torch.cpu.memory_stats()
    assert stats["allocated_bytes.all.peak"] >= floor + (16 << 20)
    assert stats["reserved_bytes.all.peak"] >= stats["reserved_bytes.all.current"]
    torch.cpu.reset_accumulated_memory_stats()
    counts = torch.cpu.memory_stats_as_nested_dict()["allocation"]["all"]
    assert 0 <= counts["allocated"] < 1000 and counts["current"] > 0
    blocks = [b for s in torch.cpu.memory_snapshot() for b in s["blocks"]]
    address = kept.untyped_storage().data_ptr()
    (block,) = [b for b in blocks if b["address"] <= address < b["address"] + b["size"]]
    assert block["state"] == "active_allocated" and block["size"] >= 4 << 20
    offered = [n for n in CUDA_NAMES.split() if not hasattr(torch.cuda.memory, n)]
    assert not offered and torch.cpu.memory_cached() == torch.cpu.memory_reserved()
    free, total = torch.cpu.mem_get_info()
    assert 0 < free <= total
    assert "blocks taken" in torch.cpu.memory_summary()
    assert "blocks taken" not in torch.cpu.memory_summary(abbreviated=True)


def test_turns_of_a_loop_use_the_same_memory():
    def turn():
        small = torch.empty(1 << 19)
        large = [torch.empty(1 << 21) for _ in range(5)]
        return len(large) + small.dim()

    def reserved():
        return torch.cpu.memory.memory_stats()["reserved_bytes.all.current"]

    for _ in range(3):
        turn()
    before = reserved()
    for _ in range(5):
        turn()
    assert reserved() == before


def test_the_search_for_holders_does_not_follow_its_own_records(monkeypatch):
    w = torch.ones(4, requires_grad=True)
    total = w.sum()
    for _ in range(50):
        total = total + (w * w).exp().sum()
    count = 0

    def referrers(*targets):
        nonlocal count
        count += 1
        return gc.get_referrers(*targets)

    fake = SimpleNamespace(get_referrers=referrers, get_referents=gc.get_referents)
    monkeypatch.setattr("pellucid.memory._names.gc", fake)
    actual = memory.holders(w)
    assert any(name.startswith("total") for name in actual)
    assert count < 100  # each reads all objects; one per record would be 321
