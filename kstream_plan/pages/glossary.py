"""The glossary, the page ``terms``: words in all their forms, and what they mean; and the rules of policies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from kstream_plan.pages.sections import page_text

#: A row of a table of two columns.
_ROW = re.compile(r"^\| (?!term \|)([^|]+) \| ([^|]+) \|$", re.MULTILINE)
#: Below it are the heads of single tables.
_HEADS = "## On one page"
#: What nobody reads on a page of HTML: tags, and what the script draws from.
_MARKUP = re.compile(r"<script.*?</script>|<[^>]*>", re.DOTALL)


def definition(word: str) -> str | None:
    """Return the meaning of a word as Markdown; ``None`` if it is not there."""
    text = " ".join(word.lower().split())
    rows = [*_rows(_page()), *_rows(page_text("check"))]
    return next(
        (f"**{text}**: {meaning}" for forms, meaning in rows if text in forms.lower().replace("`", "").split(", ")),
        None,
    )


def words_on(html: str) -> Iterator[tuple[str, str]]:
    """Yield the words of the glossary that are on a page, but for heads of tables, and what they mean."""
    text = _MARKUP.sub(" ", html).lower()
    for forms, meaning in _rows(_page().partition(_HEADS)[0]):
        words = [word for word in forms.split(", ") if re.search(rf"\b{re.escape(word)}\b", text)]
        if words:
            yield ", ".join(words), meaning.replace("`", "")


def _rows(page: str) -> list[tuple[str, str]]:
    return _ROW.findall(page)


@cache
def _page() -> str:
    return page_text("terms")
