"""Costs of computations as run, and their distance from the machine's roofs."""

import pytest

import pellucid as torch
from pellucid.diagnose.machine import Machine, raise_roof
from pellucid.diagnose.recording import computations, record_runs
from pellucid.diagnose.roofline import bound_of, roofline_of
from pellucid.nn import functional as F
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import ROUTES, Kind, Session, Watch

GIVEN = Machine(
    name="a processor",
    threads=1,
    products={"float32": 1e11, "float64": 5e10, "bfloat16": 1e11},
    division=1e9,
    elementary=1e9,
    bandwidth={"L1": 4e11, "L2": 2e11, "L3": 1e11, "memory": 1e10},
    capacity={"L1": 1 << 14, "L2": 1 << 18, "L3": 1 << 22, "memory": 1 << 27},
    call=1e-7,
    scaling=1.0,
    spread=0.01,
    is_busy=False,
)


def recorded(function):
    what = Watch.FACTS | Watch.STEPS | Watch.LINES
    logs = record_runs(function, (), {}, what, seconds=0.0)
    return computations(logs, CostCounter())


def test_a_product_is_counted_and_bound_by_its_operations():
    a = torch.ones(256, 256)
    (item,) = recorded(lambda: a @ a)
    assert item.run.products == item.written.products == 2 * 256**3
    assert item.run.bytes_read == 2 * 4 * 256**2
    assert item.line is not None and item.line.file.endswith("test_roofline.py")
    seconds, limit = bound_of(item, GIVEN)
    assert limit == "compute" and seconds == pytest.approx(2 * 256**3 / 1e11)


def test_a_map_over_much_memory_is_bound_by_its_bytes():
    x = torch.ones(1 << 21)
    (item,) = recorded(lambda: x + x)
    seconds, limit = bound_of(item, GIVEN)
    assert limit == "memory" and seconds == pytest.approx(
        12 * (1 << 21) / 1e10, rel=0.5
    )
    small = torch.ones(4)
    (item,) = recorded(lambda: small + small)
    assert bound_of(item, GIVEN)[1] == "calls"


def test_an_op_that_takes_a_text_has_a_cost():
    x = torch.ones(64, 64)
    plain, curved = (
        recorded(lambda form=form: F.gelu(x, approximate=form))[0].run
        for form in ("none", "tanh")
    )
    assert plain.bytes_read == curved.bytes_read == x.nbytes
    assert 0 < plain.flops != curved.flops > 0


def test_winograds_filtering_saves_operations_as_run():
    image, weight = torch.randn(8, 32, 28, 28), torch.randn(32, 32, 3, 3)
    (item,) = recorded(lambda: F.conv2d(image, weight, padding=1))
    written = 2 * (8 * 32 * 28 * 28) * (32 * 9)
    assert item.written.products == written
    if "Winograd" in item.routes:
        assert item.run.products == written * 16 // 36
    else:
        assert item.run.products == written
    assert any(item.routes)


def test_no_time_is_below_its_roof():
    a = torch.ones(256, 256)

    def work():
        return (a @ a).relu().softmax(-1).sum()

    result = roofline_of(recorded(work), GIVEN)
    assert {row.op for row in result.rows} == {"matmul", "relu", "softmax", "sum"}
    assert all(0 < row.share_of_roof <= 1 for row in result.rows)
    assert 0 < result.share_of_roof <= 1
    text = result.table()
    assert "matmul" in text and "test_roofline.py" in text and "a processor" in text


def test_a_kernel_that_beats_the_roof_raises_it():
    assert raise_roof(GIVEN, "products", "float32", 2e11).products["float32"] == 2e11
    assert raise_roof(GIVEN, "products", "float32", 1e10) is GIVEN
    assert raise_roof(GIVEN, "products", "int8", 1e12) is GIVEN


@pytest.mark.parametrize("repeats", [0, 4])  # later calls are prepared: only kernels
def test_steps_tell_which_driver_ran_a_product(repeats):
    a, b = torch.randn(4, 4), torch.randn(4, 4)
    for _ in range(repeats):
        a.mm(b)
    session = Session(Watch.STEPS)
    session.start()
    a.mm(b)
    log = session.stop()
    steps = [event for event in log.events if event.kind is Kind.STEP]
    assert [ROUTES[event.detail] for event in steps] == ["in place"]
