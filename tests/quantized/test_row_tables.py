"""Embedding tables as bytes: the format of fbgemm, and sums of rows."""

import numpy
import pytest

import pellucid as torch

random = numpy.random.default_rng(3)
q = torch.ops.quantized
KINDS = {"byte": 8, "4bit": 4, "2bit": 2}


def table(rows=6, columns=8):
    return torch.tensor(random.standard_normal((rows, columns)).astype("float32"))


def named(kind, name):
    return getattr(q, f"embedding_bag_{kind}_{name}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_its_integers_its_scale_and_its_least_number(kind):
    bits, weight = KINDS[kind], table()
    packed = named(kind, "prepack")(weight).numpy()
    number = numpy.float32 if bits == 8 else numpy.float16
    tail = packed[:, -2 * number().itemsize :].copy().view(number).astype("float32")
    assert packed.shape == (6, 8 * bits // 8 + 2 * number().itemsize)
    least = weight.numpy().min(1).astype(number).astype("float32")
    steps = (weight.numpy().max(1) - least) / numpy.float32(2**bits - 1)
    assert (tail[:, 1] == least).all()
    assert (tail[:, 0] == steps.astype(number).astype("float32")).all()
    scaled = (weight.numpy() - tail[:, 1:]) / tail[:, :1]
    integers = numpy.rint(scaled).clip(0, 2**bits - 1).astype("uint8")
    shifts = range(0, 8, bits)
    bytes_ = sum(integers[:, k :: len(shifts)] << s for k, s in enumerate(shifts))
    assert (packed[:, : -2 * number().itemsize] == bytes_).all()


@pytest.mark.parametrize("kind", KINDS)
def test_unpacked_numbers_are_within_half_a_step(kind):
    weight = table()
    found = named(kind, "unpack")(named(kind, "prepack")(weight))
    steps = (weight.amax(1) - weight.amin(1)) / (2 ** KINDS[kind] - 1)
    assert ((found - weight).abs() <= 0.51 * steps.unsqueeze(1)).all()


@pytest.mark.parametrize("kind", ["4bit", "2bit"])
def test_ranges_that_are_searched_lose_less(kind):
    weight = table(20, 32)
    errors = [
        (named(kind, "unpack")(named(kind, "prepack")(weight, each)) - weight).norm()
        for each in (False, True)
    ]
    assert errors[1] < errors[0]


def test_rows_of_equal_or_tiny_numbers_are_kept():
    weight = torch.stack([torch.full((8,), 0.5), torch.zeros(8)])
    for kind in KINDS:
        found = named(kind, "unpack")(named(kind, "prepack")(weight))
        assert torch.equal(found, weight)


@pytest.mark.parametrize("kind", KINDS)
def test_bags_are_sums_of_rows(kind):
    packed = named(kind, "prepack")(table())
    rows, sums = named(kind, "unpack")(packed), named(kind, "rowwise_offsets")
    indices, offsets = torch.tensor([0, 5, 2, 2, 4]), torch.tensor([0, 2, 2])
    wanted = torch.stack([rows[[0, 5]].sum(0), torch.zeros(8), rows[[2, 2, 4]].sum(0)])
    assert torch.allclose(sums(packed, indices, offsets), wanted)
    ends = torch.tensor([0, 2, 2, 5])
    found = sums(packed, indices, ends, include_last_offset=True)
    assert torch.allclose(found, wanted)
    weights = torch.arange(5.0)
    found = sums(packed, indices, offsets, per_sample_weights=weights)
    wanted = (rows[indices] * weights.unsqueeze(1))[2:].sum(0)
    assert torch.allclose(found[2], wanted)
    pairs = torch.tensor([[0, 1], [3, 3]])
    assert torch.allclose(sums(packed, pairs), rows[pairs].sum(1))


@pytest.mark.parametrize("kind", KINDS)
def test_pruned_rows_add_nothing(kind):
    packed = named(kind, "prepack")(table(3))
    rows = named(kind, "unpack")(packed)
    mapping = torch.tensor([0, -1, 1, -1, 2], dtype=torch.int32)
    options = {"pruned_weights": True, "compressed_indices_mapping": mapping}
    indices = torch.tensor([[0, 1], [4, 2], [3, 1]])
    found = named(kind, "rowwise_offsets")(packed, indices, **options)
    wanted = torch.stack([rows[0], rows[1] + rows[2], torch.zeros(8)])
    assert torch.allclose(found, wanted)


def test_columns_fill_whole_bytes():
    with pytest.raises(RuntimeError, match="number of columns a multiple of 2"):
        q.embedding_bag_4bit_prepack(table(3, 7))
    with pytest.raises(RuntimeError, match="2 dims"):
        q.embedding_bag_2bit_prepack(torch.zeros(2, 3, 4))
    assert q.embedding_bag_byte_prepack(torch.zeros(2, 3, 4)).shape == (2, 3, 12)
    with pytest.raises(RuntimeError, match="offsets"):
        packed = q.embedding_bag_byte_prepack(table())
        q.embedding_bag_byte_rowwise_offsets(packed, torch.tensor([1]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_table_is_refused(kind):
    prepack, weight = named(kind, "prepack"), table()
    for given in (weight.double(), weight.int(), torch.tensor(1.0)):
        with pytest.raises(RuntimeError):
            prepack(given)
    with pytest.raises(RuntimeError, match="uint8"):
        named(kind, "unpack")(weight)
    for index in (6, -1):
        with pytest.raises(RuntimeError, match="out of bounds"):
            named(kind, "rowwise_offsets")(
                prepack(weight), torch.tensor([0, index]), torch.tensor([0])
            )


def test_one_row_is_a_table_of_bytes():
    weight = table()
    packed = named("byte", "prepack")(weight)
    assert torch.equal(named("byte", "prepack")(weight[2]), packed[2])
