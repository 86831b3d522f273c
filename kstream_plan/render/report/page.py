"""What a report consists of: pages as a terminal shows them, with drawings and details beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kstream_plan.render.page import Page, Table
from kstream_plan.render.report.figure import Figure


class Labelled(NamedTuple):
    """A text below a label."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure, and the names of the kinds of shapes in it; ``on_demand``: it is opened on demand."""

    title: str
    figure: Figure
    legend: tuple[Labelled, ...]
    note: str = ""
    on_demand: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """Labelled texts that are looked up rather than read."""

    title: str
    items: tuple[Labelled, ...]


Block: TypeAlias = Drawing | Table | Lookup


@dataclass(frozen=True, slots=True)
class Section:
    """The page of one answer, and what a report has beside it.

    page: the same as on a terminal.
    drawings: stand before its tables.
    details: stand after its lines.
    capture_time: of its input (RFC 3339).
    data: what the script draws details from.
    subject: what the answer is about, as a section of its own.
    """

    page: Page
    drawings: tuple[Block, ...] = ()
    details: tuple[Block, ...] = ()
    capture_time: str | None = None
    data: Mapping[str, object] | None = None
    subject: Section | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report: its title, of several sections an overview, these, and how many others there are."""

    title: str
    sections: tuple[Section, ...]
    overview: tuple[Table, ...] = ()
    left_out: str = ""
