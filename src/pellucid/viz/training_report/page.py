"""The page of a TrainingReport; page.js draws, page.css is how it looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pellucid.viz import single_file

_FOLDER = Path(__file__).parent
_BODY = """<header><h1 id="title"></h1>
<label>smoothing <input id="smoothing" type="range" min="0" max="99" value="0"></label>
<label><input id="logarithmic" type="checkbox"> logarithmic</label></header>
<main id="view"></main>"""


def make_page(title: str, data: dict[str, Any]) -> str:
    """The page as text; it refers to nothing outside of itself."""
    scripts = single_file.ELEMENTS, _FOLDER / "page.js"
    styles = (_FOLDER / "page.css",)
    return single_file.make_page(title, _BODY, data, styles, scripts)
