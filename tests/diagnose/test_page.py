"""The page of a recorded run: its numbers, and their rendering in a browser."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from tests.diagnose.test_roofline import GIVEN, recorded

import pellucid as torch
from pellucid import nn
from pellucid.diagnose.page import Page
from pellucid.diagnose.page_data import by_line, flame, memory, timeline
from pellucid.diagnose.roofline import roofline_of
from pellucid.profiler import profile, record_function
from pellucid.profiler._timeline.log import Kind, Session, Watch
from pellucid.profiler._timeline.shares import main_thread, shares


def training_step():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        with record_function("a </script> \"step\" & 'more'"):
            model(torch.ones(3, 8)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def log_of(steps=3):
    step = training_step()
    step()
    session = Session(Watch.STACKS | Watch.LINES | Watch.MEMORY | Watch.MODULES)
    session.start()
    for _ in range(steps):
        step()
    return session.stop()


def test_shares_sum_to_the_time_of_the_log():
    log = log_of()
    pieces = shares(log, main_thread(log))
    wall = log.end - log.begin
    assert pieces.nanoseconds.sum() == pytest.approx(wall, rel=0.01)
    lines = by_line(log)
    total = sum(row["calls_ns"] + row["python"] for row in lines)
    assert total == pytest.approx(wall, rel=0.01)
    assert any("test_page.py" in row["line"] for row in lines)
    assert flame(log)["ns"] == pytest.approx(wall, rel=0.01)


def test_many_events_make_a_small_page():
    a = torch.ones(4)
    session = Session(Watch.LINES | Watch.STACKS)
    session.start()
    for _ in range(40_000):
        a.add(a)
    log = session.stop()
    events = timeline(log)["threads"][0]["events"]
    kinds = [event.kind for event in log.events]
    assert kinds.count(Kind.CALL) == 40_000
    assert sum(row[5] for row in events) == len(log.events)
    assert len(Page(log).html()) < 1_200_000


def test_memory_is_reported_by_role():
    actual = memory(log_of())
    assert len(actual["times"]) == len(actual["bytes"]) > 10
    gradients = actual["roles"].index("gradient")
    assert max(row[gradients] for row in actual["bytes"]) > 0


class References(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [v for k, v in attrs if k in ("src", "href")]


def test_the_page_refers_to_nothing_outside_and_holds_any_name():
    page = Page(log_of()).html()
    parser = References()
    parser.feed(page)
    assert parser.found == []
    text = re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1)
    assert "a </script> \"step\" & 'more'" in json.loads(text)["timeline"]["names"]


def test_a_profiler_writes_its_page(tmp_path):
    with profile(with_stack=True, profile_memory=True) as profiler:
        training_step()()
    profiler.export_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    with pytest.raises(ValueError, match=r"ends in \.html"):
        profiler.export_html(tmp_path / "run.txt")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def rendered(page, wish):
    """The page's elements after its script has run, opened as ``page#wish``."""
    options = "--headless --no-sandbox --disable-gpu --virtual-time-budget=20000"
    done = subprocess.run(
        [CHROMIUM, *options.split(), "--dump-dom", f"file://{page}#{wish}"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout


@pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium found (Debian: apt-get install chromium)"
)
def test_every_tab_draws_in_a_browser(tmp_path):
    a = torch.ones(64, 64)
    roofs = roofline_of(recorded(lambda: (a @ a).relu()), GIVEN)
    path = Page(log_of(), roofs, text="a verdict").save(tmp_path / "run.html")
    assert rendered(path, "").count("<pre>a verdict</pre>") == 1
    page = rendered(path, "all&find=linear")
    sum_of_lines = float(re.search(r"lines sum to ([\d.]+) %", page).group(1))
    assert 99 <= sum_of_lines <= 101
    assert int(re.search(r"(\d+) found", page).group(1)) > 0
    assert 'class="found"' in page
    parts = dict(re.findall(r'<svg[^>]* id="(\w+)"[^>]*>(.*?)</svg>', page, re.DOTALL))
    assert set(parts) == {"flame", "timeline", "memory", "roofline"}
    assert "test_page.py" in parts["flame"]
    assert "AddmmBackward" in parts["timeline"]
    assert parts["timeline"].count("<rect") > 20
    assert parts["memory"].count("<polygon") == 7
    assert parts["roofline"].count("<circle") == 1 and "matmul" in parts["roofline"]
