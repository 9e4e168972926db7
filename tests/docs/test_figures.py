"""Tables and marked numbers of documents match the results and the source."""

import pytest
from tools import figures


@pytest.mark.parametrize("path", figures.DOCUMENTS, ids=lambda path: path.stem)
def test_figures_are_current(path):
    text = path.read_text()
    assert figures.rendered(text) == text, "run tools/figures.py"


def test_the_tables_are_in_the_documents():
    used = {
        name
        for path in figures.DOCUMENTS
        for _, kind, name, _, _ in figures.MARK.findall(path.read_text())
        if kind == "table"
    }
    assert used == set(figures.TABLES)


def test_a_changed_number_is_found():
    text = "<!-- figure compare.rounds -->none<!-- end -->"
    assert "none" not in figures.rendered(text)


def test_the_status_is_short():
    (status,) = (path for path in figures.DOCUMENTS if path.stem == "status")
    assert len(status.read_text().splitlines()) <= 120
