"""The report of a training run: what it notes, and that a browser draws it."""

import base64
import json
import re
import time
import zlib
from html.parser import HTMLParser

import pytest
from tests.diagnose.test_page import CHROMIUM, References, rendered

import pellucid as torch
from pellucid import nn, viz
from pellucid.viz.training_report.samples import sample
from pellucid.viz.training_report.series import Series


def parts(**settings):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return model, torch.optim.AdamW(model.parameters(), lr=0.01, **settings)


def train(path, steps=6, **logged):
    model, optimizer = parts()
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    with viz.training(path, model, optimizer, title="a </script> run") as report:
        for _ in range(steps):
            loss = model(torch.randn(5, 4)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            report.log(loss=loss, **logged)
        report.show("noise", torch.rand(3, 3, 6, 5))
        report.show("words", "an <example> & more")
    return report


def data_of(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text())[1])


def test_a_report_has_what_training_did(tmp_path):
    path = tmp_path / "run.html"
    report = train(path, accuracy=0.5)
    data = data_of(path)
    assert data["title"] == "a </script> run" and data["facts"]["steps"] == "6"
    assert data["facts"]["model"] == "Sequential, 58 parameters"
    assert "lr 0.01" in data["facts"]["optimizer"]
    rates = data["rates"]["learning rate"]
    assert rates["means"] == [0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025]
    assert rates["steps"] == [1, 2, 3, 4, 5, 6] == data["logged"]["loss"]["steps"]
    assert set(data["norms"]) == {"all", "0", "2"}
    whole, first, second = (report.norms[name].values for name in ("all", "0", "2"))
    for all_of, a, b in zip(whole, first, second, strict=True):
        assert all_of == pytest.approx((a * a + b * b) ** 0.5)
    assert [len(data["samples"][name]) for name in ("noise", "words")] == [1, 1]
    references = References()
    references.feed(path.read_text())
    assert references.found == []


def test_time_is_reported_by_part(tmp_path):
    model, optimizer = parts()
    model.register_forward_hook(lambda *_: time.sleep(0.02))
    with viz.training(tmp_path / "run.html", model, optimizer) as report:
        for _ in range(3):
            time.sleep(0.01)
            model(torch.ones(1, 4)).sum().backward()
            time.sleep(0.015)
            optimizer.step()
            with torch.no_grad():
                model.eval()(torch.ones(1, 4))
            model.train()
    totals = data_of(tmp_path / "run.html")["totals"]
    assert totals["data and other"] >= 30 and totals["loss and backward"] >= 45
    assert totals["forward"] >= 60 and totals["evaluation"] >= 40
    assert sum(totals.values()) <= (time.perf_counter() - report.began) * 1e3


def test_an_error_of_the_loop_is_in_the_report(tmp_path):
    model, optimizer = parts()
    path = tmp_path / "run.html"
    with pytest.raises(ZeroDivisionError):  # noqa: SIM117
        with viz.training(path, model, optimizer):
            model(torch.ones(1, 4)).sum().backward()
            optimizer.step()
            raise ZeroDivisionError("no <more>")
    assert data_of(path)["facts"]["ended by"] == "ZeroDivisionError: no <more>"
    optimizer.step()
    model(torch.ones(1, 4))
    assert not model._forward_hooks and not model._forward_pre_hooks


def test_long_runs_make_small_pages():
    series = Series()
    for step in range(100_000):
        series.add(step, step % 100 if step % 1000 else float("nan"))
    data = series.data()
    assert len(data["steps"]) == 1000 and data["steps"][-1] == 99_999
    assert data["least"][5] == 0 and data["most"][5] == 99 and data["unknown"] == 100
    assert data["means"][5] == pytest.approx(49.5)
    assert data["means"][0] == 50  # without the 0 that is unknown
    lost = Series()
    lost.add(1, float("inf"))
    lost.add(1, float("nan"))
    assert lost.data()["means"] == [None] and lost.data()["last"] is None


def pixels(address, channels):
    """The rows of a picture without filters."""
    png = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    width, height = (int.from_bytes(png[k : k + 4], "big") for k in (16, 20))
    size = int.from_bytes(png[33:37], "big")
    rows = zlib.decompress(png[41 : 41 + size])
    step = 1 + width * channels
    assert len(rows) == height * step
    return [list(rows[k * step + 1 : (k + 1) * step]) for k in range(height)]


def test_pictures_have_the_values_of_their_tensors():
    gray = sample(torch.tensor([[0.0, 0.5, 2.0], [float("nan"), 1.0, -1.0]]))["images"]
    assert pixels(gray[0], 1) == [[0, 128, 255], [0, 255, 0]]
    color = torch.arange(12, dtype=torch.uint8).view(1, 3, 2, 2)
    assert pixels(sample(color)["images"][0], 3)[0] == [0, 4, 8, 1, 5, 9]
    assert len(sample(torch.rand(100, 1, 2, 2))["images"]) == 64


def test_wrong_values_are_named(tmp_path):
    model, optimizer = parts()
    with pytest.raises(ValueError, match=r"ends in \.html"):
        viz.training(tmp_path / "run.txt", model, optimizer)
    with pytest.raises(FileNotFoundError):
        viz.training(tmp_path / "no" / "run.html", model, optimizer)
    with viz.training(tmp_path / "run.html", model, optimizer) as report:
        with pytest.raises(TypeError, match=r"loss is a tensor of shape \(2,\)"):
            report.log(loss=torch.ones(2))
        with pytest.raises(TypeError, match="loss is 'low'"):
            report.log(loss="low")
        with pytest.raises(ValueError, match=r"tensor's is \(5, 2, 2\)"):
            report.show("x", torch.ones(5, 2, 2))
        with pytest.raises(TypeError, match="str or a Tensor, not int"):
            report.show("x", 3)


class Shapes(HTMLParser):
    """How many elements of each kind a section has."""

    def __init__(self):
        super().__init__()
        self.section, self.counts = "", {}

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.section = dict(attrs)["id"]
        key = self.section, tag
        self.counts[key] = self.counts.get(key, 0) + 1


@pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium found (Debian: apt-get install chromium)"
)
def test_a_browser_draws_the_report(tmp_path):
    path = tmp_path / "run.html"
    train(path)
    page = rendered(path, "")
    shapes = Shapes()
    shapes.feed(page)
    assert shapes.counts["logged-loss", "path"] == 1
    assert shapes.counts["norms", "path"] == 3 and shapes.counts["rates", "path"] == 1
    assert shapes.counts["times", "polygon"] == 5
    assert shapes.counts["samples", "img"] == 3
    assert "an &lt;example&gt; &amp; more" in page and "NaN" not in page
    assert "58 parameters" in page
