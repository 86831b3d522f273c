"""One declaration gives a reader, a writer and a schema that agree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.codec import (
    WHOLE,
    WrongValueError,
    mapping_of,
    or_null,
    whole,
    with_name,
)
from kstream_plan.documents.records import Codecs, Field, tagged
from tests.helpers.schemas import Validator


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True)
class Line:
    from_: Point
    to: Point | None
    colour: Colour
    kind: Literal["line"] = "line"


@dataclass(frozen=True)
class Word:
    text: str
    loud: bool
    note: int | None = None
    kind: Literal["word"] = "word"


@dataclass(frozen=True, kw_only=True)
class Page:
    title: str
    size: Literal["a4", "letter"]
    parts: Sequence[Line | Word]
    margins: tuple[int, ...]
    named: Mapping[str, Point]
    extra: int = 7


FORM = Codecs()
FORM.record(Point, "Where.", ref="point", x=WHOLE)
LINE = FORM.record(Line, from_="Its beginning.")
WORD = FORM.record(Word, note=Field(whole(3), "Beside it.", default=None, left_out=True))
FORM.add(Line | Word, with_name("part", tagged("kind", "A part.", [LINE, WORD])))
PAGE = FORM.record(Page, extra=Field(default=7))
SCHEMA = Validator({**PAGE.schema, "$defs": PAGE.defs})

points = st.builds(Point, st.integers(-9, 9), st.floats(-9, 9))
lines = st.builds(Line, points, st.none() | points, st.sampled_from(Colour))
words = st.builds(Word, st.text(max_size=3), st.booleans(), st.none() | st.integers(3, 9))
pages = st.builds(
    Page,
    title=st.text(max_size=3),
    size=st.sampled_from(["a4", "letter"]),
    parts=st.lists(lines | words, max_size=3).map(tuple),
    margins=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    named=st.dictionaries(st.text(max_size=3), points, max_size=2),
    extra=st.integers(0, 9),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-4, 4) | st.sampled_from([0.5, "", "red", "word", "a4"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y", "kind"]), inner, max_size=3),
    max_leaves=4,
)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in _paths(item, (*path, key)))]


@given(pages)
def test_what_is_written_is_read_again_and_is_what_the_schema_says(page: Page) -> None:
    document = json.loads(json.dumps(PAGE.to_json(page)))
    assert PAGE.read(document) == page
    SCHEMA.validate(document)


@given(pages, st.data())
def test_what_is_read_is_what_the_schema_allows(page: Page, data: st.DataObject) -> None:
    document = part = json.loads(json.dumps(PAGE.to_json(page)))
    path = data.draw(st.sampled_from(_paths(document)[1:]))
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = data.draw(values)
    try:
        PAGE.read(document)
    except WrongValueError:
        assert not SCHEMA.is_valid(document)
    else:
        assert SCHEMA.is_valid(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": 1}, "title is not text"),
        ({"title": None}, "title is missing"),
        ({"size": "a5"}, "size is 'a5', not one of a4, letter"),
        ({"size": 1}, "size is not text"),
        ({"extra": True}, "extra is not a whole number"),
        ({"extra": -1}, "extra is -1, below 0"),
        ({"extra": 10**40}, "extra is too large a number"),
        ({"margins": {}}, "margins is not a list"),
        ({"margins": [1, "x"]}, "margins[1] is not a whole number"),
        ({"named": {"a b": {"x": 1}}}, "named['a b'] has no field 'y'"),
        ({"named": {"a": {"x": 1, "y": float("inf")}}}, "named['a'].y is too large a number"),
        ({"parts": [{"kind": "word", "text": "", "loud": 1}]}, "parts[0].loud is not true or false"),
        ({"parts": [{"kind": "word", "text": "", "loud": True, "note": 2}]}, "parts[0].note is 2, below 3"),
        ({"parts": [{"kind": "dot"}]}, "parts[0].kind is 'dot', not one of line, word"),
        ({"parts": [{}]}, "parts[0] has no field 'kind'"),
        ({"parts": [7]}, "parts[0] is not an object"),
        ({"parts": [{"kind": "line", "from": 1}]}, "parts[0].from is not an object"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], message: str) -> None:
    document = {"title": "", "size": "a4", "parts": [], "margins": [], "named": {}} | change
    with pytest.raises(WrongValueError) as caught:
        PAGE.read(document)
    assert str(caught.value) == message


def test_a_field_that_may_be_missing_is_read_as_what_it_stands_for_and_others_are_ignored() -> None:
    document = {"title": "", "size": "a4", "parts": [], "margins": [], "named": {}, "news": 1}
    assert PAGE.read(document).extra == 7


def test_what_is_left_out_is_not_written() -> None:
    assert WORD.to_json(Word("a", True)) == {"text": "a", "loud": True, "kind": "word"}
    assert WORD.to_json(Word("a", True, 3)) == {"text": "a", "loud": True, "note": 3, "kind": "word"}


def test_a_class_without_a_codec_or_a_field_that_is_none_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="there is no codec of"):
        Codecs().record(Line)
    with pytest.raises(TypeError, match="Point has no z"):
        Codecs().record(Point, z=WHOLE)


def test_null_and_names_are_told_by_the_schema() -> None:
    assert or_null(WHOLE).schema == {"type": ["integer", "null"]}
    assert or_null(FORM.codec_of(Point)).schema == {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]}
    assert mapping_of(whole(1, 2)).schema["additionalProperties"] == {"type": "integer", "minimum": 1, "maximum": 2}
    assert PAGE.defs.keys() == {"point", "part"}


class Drawing(NamedTuple):
    line: Line | None
    corners: tuple[int, int]

    @property
    def colours(self) -> Mapping[Colour, int]:
        return {Colour.RED: self.corners[0]}


VIEWS = Codecs({"colour": "Of what is drawn.", "corners": "By default."})
VIEWS.record(Point, x=WHOLE)
DRAWING = VIEWS.view(
    Drawing,
    "A drawing.",
    start=Field(get="line.from_"),
    colour=Field(get="line.colour"),
    corners="Two.",
    colours="By name.",
    sum=Field(WHOLE, "In all.", lambda drawing: sum(drawing.corners), default=None),
)


@given(st.none() | lines, st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_a_view_is_written_from_the_attributes_that_it_names(line: Line | None, corners: tuple[int, int]) -> None:
    document = DRAWING.to_json(Drawing(line, corners))
    assert document == {
        "start": line and {"x": line.from_.x, "y": line.from_.y},
        "colour": line and line.colour,
        "corners": list(corners),
        "colours": {"red": corners[0]},
        "sum": sum(corners),
    }
    Validator(DRAWING.schema).validate(json.loads(json.dumps(document)))


def test_a_view_says_what_its_fields_mean_and_how_many_values_they_have() -> None:
    fields: Any = DRAWING.schema["properties"]
    assert fields["corners"] == {
        "type": "array",
        "items": {"type": "integer", "minimum": 0},
        "minItems": 2,
        "maxItems": 2,
        "description": "Two.",
    }
    assert fields["colour"]["description"] == "Of what is drawn."
    assert DRAWING.schema["required"] == ["start", "colour", "corners", "colours"]


def test_a_view_has_no_field_that_is_not_there_and_is_not_read() -> None:
    with pytest.raises(KeyError):
        VIEWS.view(Drawing, border="None such.")
    with pytest.raises(TypeError):
        DRAWING.read({})
