"""The page of a Drawing: its data, one style sheet and one script in one file.

page.js draws, folds, searches and moves; page.css is how it looks. Called by
drawing.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.viz.svg import STYLE

if TYPE_CHECKING:
    from pellucid.viz.drawing import Drawing

_FOLDER = Path(__file__).parent


def make_page(drawing: Drawing) -> str:
    """The page as text; it refers to nothing outside of itself."""
    data = json.dumps(drawing.data()).replace("</", "<\\/")
    style = STYLE + (_FOLDER / "page.css").read_text(encoding="utf-8")
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>graph of {len(drawing.items)} nodes</title>
<style>{style}</style>
<header>
<button id="direction">show backward</button>
<button id="unfold">unfold all</button>
<button id="fold">fold all</button>
<button id="fit">fit</button>
<input id="search" type="search" placeholder="find an op, module or line">
<span id="counts"></span>
</header>
<main><svg id="picture"><g id="scene"></g></svg><aside id="details"></aside></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</html>
"""
