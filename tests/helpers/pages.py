"""What a page of HTML holds, as its parser sees it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """The tags and attributes of a page, what is to be read of it, its tables, and the data of its script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.data: list[dict[str, Any]] = []
        self._unread: str | None = None
        self._held = ""
        self._in_cell = False
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        """All that is to be read, words parted by single blanks."""
        return " ".join(" ".join(self.said).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._unread = dict(attrs).get("type") or tag
            self._held = ""
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            if self._unread == "application/json":
                self.data.append(json.loads(self._held))
            self._unread = None
        elif tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._unread is not None:
            self._held += data
            return
        self.said.append(data)
        if self._in_cell:
            self.tables[-1][-1][-1] += data
