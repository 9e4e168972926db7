"""A pytest plugin: runs a sample of a library's tests and records how each ended.

The tests are drawn by the checksums of their names until SUITE_SECONDS are over, or are
those of the record SUITE_ONLY. SUITE_RECORD gets a line of JSON per test.
"""

import json
import os
import time
import zlib

import pytest

RECORD = os.environ["SUITE_RECORD"]
SECONDS = float(os.environ.get("SUITE_SECONDS", "0"))
ONLY = os.environ.get("SUITE_ONLY")
_began = []
_outcomes = {}


def _names(path):
    with open(path) as lines:
        return [json.loads(line)["id"] for line in lines]


def _write(**row):
    with open(RECORD, "a") as file:
        file.write(json.dumps(row) + "\n")


def pytest_collection_modifyitems(items):
    if ONLY:
        place = {name: k for k, name in enumerate(_names(ONLY))}
        items[:] = [item for item in items if item.nodeid in place]
        items.sort(key=lambda item: place[item.nodeid])
    else:
        items.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    if not _began:  # imports and collection are not counted: they may take longer
        _began.append(time.monotonic())
    if SECONDS and time.monotonic() - _began[0] > SECONDS:
        item.session.shouldstop = "the sample is large enough"
        return True
    return (yield)


def pytest_runtest_logreport(report):
    outcome, text = report.outcome, ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        text = (crash.message if crash else str(report.longrepr))[:600]
    before = _outcomes.get(report.nodeid, ("passed", ""))
    if report.when == "setup" or before[0] == "passed":
        before = outcome, text
    _outcomes[report.nodeid] = before
    if report.when == "teardown":
        _write(id=report.nodeid, outcome=before[0], text=before[1])


def pytest_collectreport(report):
    if report.failed:
        text = str(report.longrepr)[-600:]
        _write(id=f"collect {report.nodeid}", outcome="failed", text=text)
