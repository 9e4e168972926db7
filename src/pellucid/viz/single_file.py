"""A page as one file: its data as JSON, styles and scripts, nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
ELEMENTS = _FOLDER / "elements.js"  # helpers that scripts of pages share


def make_page(
    title: str,
    body: str,
    data: Any,
    styles: Sequence[Path | str],
    scripts: Sequence[Path],
) -> str:
    """The page as text. Its scripts find the data as the global ``data``; styles are
    files, or text.
    """
    text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    style = "".join(s if isinstance(s, str) else _text(s) for s in styles)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{escape(title)}</title>
<style>{style}</style>
{body}
<script type="application/json" id="data">{text}</script>
<script>"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
{"".join(map(_text, scripts))}</script>
</html>
"""


def write_page(path: str | Path, page: str) -> Path:
    """Writes it whole or not at all; ValueError unless the name ends in .html."""
    path = Path(path)
    if path.suffix != ".html":
        raise ValueError(
            f"cannot save a page as {path.suffix or 'a file without ending'}: "
            "use a name that ends in .html"
        )
    partial = path.with_name(path.name + ".part")
    partial.write_text(page, encoding="utf-8")
    return partial.replace(path)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
