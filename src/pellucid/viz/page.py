"""The page of a Drawing: its data, one style sheet and one script in one file.

page.js draws, folds, searches and moves; page.css is how it looks. Called by
drawing.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.viz import single_file
from pellucid.viz.svg import STYLE

if TYPE_CHECKING:
    from pellucid.viz.drawing import Drawing

_FOLDER = Path(__file__).parent
_BODY = """<header>
<button id="direction">show backward</button>
<button id="unfold">unfold all</button>
<button id="fold">fold all</button>
<button id="fit">fit</button>
<input id="search" type="search" placeholder="find an op, module or line">
<span id="counts"></span>
</header>
<main><svg id="picture"><g id="scene"></g></svg><aside id="details"></aside></main>"""


def make_page(drawing: Drawing) -> str:
    """The page as text; it refers to nothing outside of itself."""
    title = f"graph of {len(drawing.items)} nodes"
    styles, scripts = (STYLE, _FOLDER / "page.css"), (_FOLDER / "page.js",)
    return single_file.make_page(title, _BODY, drawing.data(), styles, scripts)
