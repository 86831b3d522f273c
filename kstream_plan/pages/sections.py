"""The pages in sections, each as it is written, and what it says where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

_FENCE = re.compile(r"^ *```")
_HEADING = re.compile(r"^(#{2,3}) (.*)$")
#: What a page or a section answers.
_ASKS = re.compile(r"^> (.*)$", re.MULTILINE)
#: Other words for that, which are not shown.
_ALSO = re.compile(r"^<!-- also: (.*) -->$", re.MULTILINE)
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
#: The line below the head of a table.
_HEAD = re.compile(r"^\s*\|-", re.MULTILINE)
#: Where a bullet, a row of a table or a paragraph begins.
_BEGINS = re.compile(r"^\s*(?:[-*|]|\d+\.) ")


@dataclass(frozen=True, slots=True)
class Section:
    """A page's beginning (without a heading), or what stands below one of its headings, as it is written."""

    page: str
    title: str
    heading: str
    text: str

    @property
    def name(self) -> str:
        """What ``help`` opens it by: ``why``, or ``why#not-ready``."""
        return f"{self.page}#{slug(self.heading)}" if self.heading else self.page

    @property
    def link(self) -> str:
        """Return the link to it from beside its page."""
        anchor = f"#{slug(self.heading)}" if self.heading else ""
        return f"[{self.name}]({self.page}.md{anchor})"

    @property
    def asks(self) -> list[str]:
        """The questions that it answers."""
        return _ASKS.findall(self.text)

    @property
    def related_text(self) -> str:
        """Other words for these, which are not shown."""
        return " ".join(_ALSO.findall(self.text))

    @property
    def bold(self) -> list[str]:
        """What is bold: what its passages are about, and messages."""
        return _BOLD.findall(self.text)

    @property
    def passages(self) -> list[str]:
        """What it says, without heading and questions: paragraphs, bullets, rows, commands, in order."""
        return [block for block in _blocks(self.text.splitlines()) if not block.startswith(("#", "> ", "<!--"))]

    @property
    def lead_places(self) -> list[int]:
        """Which of its passages are told: not what is typed or printed, heads of tables, and lists of sections."""
        starts = ("```", "On this page: ")
        return [
            place
            for place, passage in enumerate(self.passages)
            if not passage.lstrip().startswith(starts) and not _HEAD.search(passage)
        ]


def slug(heading: str) -> str:
    """Return how links call a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def page_names() -> list[str]:
    """Return the names of all pages, in order."""
    folder = files("kstream_plan") / "pages"
    return sorted(file.name.removesuffix(".md") for file in folder.iterdir() if file.name.endswith(".md"))


def page_text(name: str) -> str:
    """Return a page as it is written."""
    return (files("kstream_plan") / "pages" / f"{name}.md").read_text(encoding="utf-8")


def shown_text(name: str) -> str:
    """Return a page without the words by which it is searched, which are not shown."""
    return re.sub(f"{_ALSO.pattern}\n", "", page_text(name), flags=re.MULTILINE)


def sections_of(name: str) -> list[Section]:
    """Return a page in its sections; what stands below a smaller heading is one of its own."""
    lines = page_text(name).splitlines()
    title, heading, in_code = lines[0].removeprefix("# "), "", False
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        in_code ^= bool(_FENCE.match(line))
        if not in_code and (begins := _HEADING.match(line)):
            heading = begins[2]
            parts.append((heading, []))
        parts[-1][1].append(line)
    return [Section(name, title, heading, "\n".join(text).strip() + "\n") for heading, text in parts]


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    block: list[str] = []
    in_code = False
    for line in lines:
        edge = bool(_FENCE.match(line))
        if not in_code and (edge or not line.strip() or _BEGINS.match(line)):
            if block:
                yield "\n".join(block)
            block = []
        if edge or line.strip():
            block.append(line)
        if edge and in_code:
            yield "\n".join(block)
            block = []
        in_code ^= edge
    if block:
        yield "\n".join(block)
