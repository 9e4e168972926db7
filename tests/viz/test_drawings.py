"""Graphs as data, pictures and pages; the page runs in headless Chromium."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

import pellucid as torch
from pellucid import nn, viz
from pellucid.viz.tree import WIDEST, Group


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(blocks)])

    def forward(self, x):
        return self.blocks(x).sum()


def drawing_of(blocks, fold=40):
    model = Net(blocks)
    with viz.record():
        loss = model(torch.ones(2, 4))
    return viz.graph(loss, model, fold=fold)


def groups_of(group):
    yield group
    for child in group.children:
        if isinstance(child, Group):
            yield from groups_of(child)


def test_items_tell_op_shape_module_line_and_saved_bytes():
    items = drawing_of(1).items
    (relu,) = [item for item in items if item.name == "relu"]
    assert relu.backward_name == "ReluBackward0"
    assert relu.shapes == [(2, 8)] and relu.dtype == "float32"
    assert relu.module == "Net.blocks.0"
    assert re.fullmatch(r"test_drawings\.py:\d+ forward", relu.source)
    assert relu.bytes_saved == 2 * 8 * 4
    assert {i.name for i in items if i.is_leaf} == {"weight", "bias"}


def test_a_graph_is_drawn_within_a_recording_and_later_ops_are_not_of_it():
    model = Net(1)
    with viz.record():
        loss = model(torch.ones(2, 4))
        within = {i.name: i.source for i in viz.graph(loss).items if not i.is_leaf}
        again = model(torch.ones(2, 4))
        second = {i.name: i.module for i in viz.graph(again).items if not i.is_leaf}
    assert all(
        re.fullmatch(r"test_drawings\.py:\d+ forward", s) for s in within.values()
    )
    assert second["relu"] == "Net.blocks.0" and second["sum"] == "Net"
    later = model(torch.ones(2, 4))
    assert {i.source for i in viz.graph(later).items} == {""}
    assert {i.source for i in viz.graph(loss).items} >= set(within.values())


def test_leaves_count_nothing_as_they_live_anyway():
    (linear,) = [
        item for item in drawing_of(1).items if item.module == "Net.blocks.0.down"
    ][-1:]
    weight = [s for s in linear.saved if s.is_leaf]
    assert [s.shape for s in weight] == [(4, 8)]
    assert linear.bytes_saved == 2 * 8 * 4  # the input alone


def test_without_a_recording_parameters_name_the_modules():
    model = Net(1)
    items = viz.graph(model(torch.ones(2, 4)), model).items
    assert {i.module for i in items if i.name == "linear"} == {
        "Net.blocks.0.up",
        "Net.blocks.0.down",
    }


def test_every_child_has_one_place_below_what_it_reads():
    drawing = drawing_of(3)
    for group in groups_of(drawing.top):
        layers = drawing.layers[id(group)]
        places = sorted(place for layer in layers for place in layer)
        assert places == list(range(len(group.children)))


def test_no_group_is_too_wide_to_read():
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(500):
        y = y * 1.01
    drawing = viz.graph(y.sum())
    assert all(len(g.children) <= WIDEST for g in groups_of(drawing.top))
    assert len(drawing.items) == 502


def test_modules_are_folded_until_few_boxes_are_seen():
    page = drawing_of(30, fold=20).svg()
    boxes = re.findall(r'<g class="(?:item|leaf|folded)"', page)
    assert 1 <= len(boxes) <= 20


@pytest.mark.parametrize("backward", [False, True])
def test_pictures_are_well_formed_and_name_the_ops(backward):
    picture = drawing_of(1).svg(backward=backward)
    ElementTree.fromstring(picture)
    assert ("ReluBackward0" if backward else ">relu<") in picture


def test_a_folded_list_of_modules_names_the_first_and_the_last():
    folds = [g.name for g in groups_of(drawing_of(2 * WIDEST).top) if " to " in g.name]
    assert folds == [f"0 to {WIDEST - 1}", f"{WIDEST} to {2 * WIDEST - 1}"]


def test_edges_that_pass_rows_go_around_them_inside_of_the_picture():
    picture = ElementTree.fromstring(drawing_of(1).svg())
    curves = [
        [float(x) for x in re.findall(r"[\d.]+", path.get("d"))]
        for path in picture.iter("{http://www.w3.org/2000/svg}path")
        if path.get("class") == "edge"
    ]
    around = [c for c in curves if c[1] == c[3] and c[5] == c[7]]
    assert around and all(c[2] > max(c[0], c[6]) for c in around)
    assert max(max(c[::2]) for c in curves) <= float(picture.get("width")) + 1


def test_saving_knows_two_endings(tmp_path):
    drawing = drawing_of(1)
    assert drawing.save(tmp_path / "g.svg").read_text().startswith("<svg")
    assert drawing.save(tmp_path / "g.html").read_text().startswith("<!doctype html>")
    with pytest.raises(ValueError, match=r"\.html or \.svg"):
        drawing.save(tmp_path / "g.png")


def test_a_tensor_without_a_graph_is_refused():
    with pytest.raises(ValueError, match="no grad_fn"):
        viz.graph(torch.ones(1))


class References(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [v for k, v in attrs if k in ("src", "href")]


def test_the_page_refers_to_nothing_outside():
    parser = References()
    parser.feed(drawing_of(1).html())
    assert parser.found == []


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium found (Debian: apt-get install chromium)"
)


def rendered(page, wish):
    """The page's elements after its script ran, opened as ``page#wish``."""
    options = "--headless --no-sandbox --disable-gpu --virtual-time-budget=20000"
    done = subprocess.run(
        [CHROMIUM, *options.split(), "--dump-dom", f"file://{page}#{wish}"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout


@in_browser
def test_the_page_draws_folds_and_searches_3000_nodes(tmp_path):
    drawing = drawing_of(430)
    count = len(drawing.items)
    assert count > 3000
    page = drawing.save(tmp_path / "graph.html")
    folded = rendered(page, "")
    assert 1 <= len(re.findall(r'<g class="(?:item|leaf|folded)', folded)) <= 40
    assert f"{count} nodes" in folded
    unfolded = rendered(page, "unfold")
    assert len(re.findall(r'<g class="(?:item|leaf)', unfolded)) == count
    actual = rendered(page, "backward&find=relu")
    assert "430 found" in actual and "show forward" in actual
    number = next(i.number for i in drawing.items if i.name == "relu")
    shown = rendered(page, f"show={number}")
    assert "test_drawings.py" in shown and 'class="item selected"' in shown
