"""The page of a recorded run: one HTML file, its data, one style sheet, one script.

page.js draws time by line, the flame graph, the timeline, memory and rooflines;
page.css styles them. The file is self-contained.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid._package.calls import offered
from pellucid.diagnose.page_data import by_line, flame, memory, timeline
from pellucid.profiler._timeline.log import Log
from pellucid.viz import single_file

if TYPE_CHECKING:
    from pellucid.diagnose.roofline import Roofline
    from pellucid.profiler import profile

_FOLDER = Path(__file__).parent
_TITLE = "where the time went"
_BODY = """<header><nav id="tabs"></nav>
<input id="search" type="search" placeholder="find an op or line">
<span id="note"></span></header>
<main id="view"></main>"""


_OF_LOGS: dict[str, Callable[[Log], Any]] = {
    "lines": by_line,
    "flame": flame,
    "timeline": timeline,
    "memory": memory,
}


class Page:
    """A log, rooflines and a text, whichever are given, as a page; ``only``: the one
    tab that the log has.
    """

    def __init__(
        self,
        log: Log | None = None,
        roofline: Roofline | None = None,
        text: str = "",
        only: str = "",
    ) -> None:
        self.log, self.roofline, self.text = log, roofline, text
        self.only = only

    def data(self) -> dict[str, Any]:
        """The data of the page, as JSON types."""
        fields: dict[str, Any] = {}
        if self.text:
            fields["text"] = self.text
        if self.log is not None:
            fields["wall"] = self.log.end - self.log.begin
            for name, make in _OF_LOGS.items():
                if self.only in ("", name):
                    fields[name] = make(self.log)
        if self.roofline is not None:
            fields["roofline"] = self.roofline.data()
        return fields

    def html(self) -> str:
        """The page as text."""
        scripts = single_file.ELEMENTS, _FOLDER / "page.js"
        styles = (_FOLDER / "page.css",)
        return single_file.make_page(_TITLE, _BODY, self.data(), styles, scripts)

    def save(self, path: str | Path) -> Path:
        """Writes the page; returns its path. ValueError unless it ends in .html."""
        return single_file.write_page(path, self.html())


@offered.into("profiler._profile.profile")
def export_html(self: profile, path: str, only: str = "") -> None:
    """One page that needs no network: time by line of the program, flame, timeline
    and memory, or ``only`` one of them. Lines need ``with_stack``, memory
    ``profile_memory``.

    Example: ``p.export_html("run.html")``.
    """
    Page(self._recorded(), only=only).save(path)
