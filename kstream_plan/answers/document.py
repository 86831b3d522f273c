"""What the documents of answers have in common: how they begin and end, the types in them, and one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from kstream_plan.documents.codec import COUNT, TEXT, Codec, Json, const, defs_of, list_of, schema_of
from kstream_plan.documents.records import Codecs, Field
from kstream_plan.model import Note, WorkId
from kstream_plan.model.note import Remarks
from kstream_plan.plans import Plan, Seat
from kstream_plan.plans.rebalance_events import membership
from kstream_plan.plans.simulated import Range
from kstream_plan.version import __version__

FORMAT_VERSION = "1.0"

#: What a field of this name means in every answer that does not say otherwise.
_MEANINGS = {
    "answer": "Yes, no or unknown.",
    "at_ms": "In milliseconds from when the plan begins.",
    "captured_at": "When the snapshot was taken, RFC 3339 in UTC; null: unknown.",
    "consumer_id": "The consumer.",
    "duration_is": "What `duration_ms` is, as in a plan.",
    "duration_ms": "How long the plan takes.",
    "generation": "Generation of the group.",
    "instances": "Number of instances.",
    "likely": "In the likely case.",
    "message": "One sentence.",
    "process_id": "The instance.",
    "rebalances": "Number of rebalances.",
    "role": "The role of the copy.",
    "task_id": "The task.",
    "tasks": "Number of tasks.",
    "verdict": "How the plan ends.",
}
FORM = Codecs(_MEANINGS)
FORM.add(WorkId, Codec(str, str, {"type": "string"}))
NOTE = FORM.record(
    Note, ref="note", code="Stable name of this kind of note.", subjects="Tasks or instances that it is about."
)
NOTES = list_of(NOTE)
FORM.record(
    Range,
    "Over all random simulations.",
    ref="range",
    median="The likely figure: of the random simulation that is shown, or the median where none is.",
    least="The minimum of what is possible.",
    most="The maximum of what is possible.",
)
FORM.record(Seat, "One consumer in one role; null: none.", ref="seat")
_REMARKS = FORM.view(
    Remarks,
    warnings=Field(description="What may hurt.", default=None),
    notes=Field(description="What is good to know.", default=None),
    assumptions=Field(description="What the answer takes for granted.", default=None),
    next=Field(
        description="Commands that answer the next questions; from Python with `SNAPSHOT` for the path.", default=None
    ),
)
VERSION = replace(TEXT, schema={"type": "string", "pattern": r"^1\."})


def added(codec: Codec[Any] | str, description: str = "", **options: Any) -> Field:
    """Return a field that documents of earlier versions do not have; a text is what it means."""
    if isinstance(codec, str):
        return Field(description=codec, default=None, **options)
    return Field(codec, description, default=None, **options)


def shape(*types: str, **schema: Json) -> Codec[Any]:
    """Return the codec of JSON values that are written as they are."""
    return Codec(str, None, {"type": types[0] if len(types) == 1 else list(types), **schema})


def dump(document: Json) -> str:
    """Return a document as one line of ASCII with sorted keys."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def field(get: str | Callable[[Any], Any], description: str = "", codec: Codec[Any] | None = None) -> Field:
    """Return a field that is read from the answer: by the path of an attribute, or by a function."""
    return Field(codec, description, get)


#: What a plan was made from.
INPUT = FORM.view(
    Plan, digest="Fingerprint of the group and its settings.", generation="Generation of the snapshot.", captured_at=""
)
#: The members of a group before and after a plan, and its tasks.
GROUP = FORM.view(
    Plan,
    instances_before=field(
        lambda plan: len(plan.group.instances) - len(membership(plan)[0]), "Members before anything happens.", COUNT
    ),
    instances=field(lambda plan: len(plan.group.instances) - len(membership(plan)[1]), "Members at the end.", COUNT),
    stateful_tasks=field(lambda plan: len(plan.group.stateful), "Tasks with state.", COUNT),
    stateless_tasks=field(
        lambda plan: len(plan.group.stateless),
        "Tasks without state; of a Connect group all connectors and tasks.",
        COUNT,
    ),
)


@dataclass(frozen=True, slots=True)
class Document:
    """The JSON of one kind of answers.

    kind: its name.
    title: what the schema is called.
    codec: how the answer is written.
    words: what else is in it, made where the page is made.
    extra: fields that are only written on request.
    """

    kind: str
    title: str
    codec: Codec[Any]
    words: Mapping[str, Codec[Any]]
    extra: Codec[Any]

    def line(self, answer: object, remarks: Remarks, *, extra: bool = False, **words: Any) -> str:
        """Return an answer with the lines of its page as one line of ASCII, sorted keys, without the line end."""
        texts = {name: codec.to_json(words[name]) for name, codec in self.words.items()}
        extra_fields = _fields(self.extra.to_json(answer)) if extra else {}
        return dump(
            {**_fields(self.codec.to_json(answer)), **_fields(_REMARKS.to_json(remarks)), **texts, **extra_fields}
        )

    def schema(self) -> dict[str, Json]:
        """Return the JSON Schema."""
        words = {name: codec.schema for name, codec in self.words.items()}
        parts = [_fields(codec.schema["properties"]) for codec in (self.codec, _REMARKS, self.extra)]
        properties = {**parts[0], **words, **parts[1], **parts[2]}
        return {
            **schema_of(self.kind, self.title, self.codec),
            "properties": properties,
            "required": [*cast("list[Json]", self.codec.schema["required"]), *words],
            "$defs": defs_of([self.codec, *self.words.values(), _REMARKS, self.extra]),
        }


def closed(schema: Any) -> Any:
    """Return a schema by which no object has other fields than those that it names, unless it says so."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    restriction = (
        {"additionalProperties": False} if isinstance(schema.get("properties"), dict) and "type" in schema else {}
    )
    return restriction | {name: closed(part) for name, part in schema.items()}


def _fields(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value)


def document(
    kind: str,
    answer_type: type,
    description: str,
    /,
    *,
    details: str = "",
    title: str = "",
    group_at: str = "plan.group",
    models_at: str | Callable[[Any], str] | None = "plan.models",
    words: Mapping[str, Codec[Any]] | None = None,
    extra: Mapping[str, Any] | None = None,
    **declared: Any,
) -> Document:
    """Return the document of a type of answers.

    Args:
        kind: its name.
        answer_type: the type.
        description: what the document is; that it is one for each application follows.
        details: more sentences about it.
        title: what the schema is called, if not as the kind.
        group_at: the path to the group, for its application id; empty: the answer has it itself.
        models_at: the path to the releases whose behaviour is modelled, or what makes them of the answer; ``None``: it
            does not say what made it.
        words: fields whose values :meth:`Document.line` is given.
        extra: fields that it writes on request.
        declared: the fields, as of :meth:`~kstream_plan.documents.records.Codecs.view`.
    """
    head: dict[str, Any] = {
        "format_version": field(lambda _answer: FORMAT_VERSION, "Major and minor version of this format.", VERSION),
        "kind": Field(const(kind), "What this is."),
        "application_id": field(f"{group_at}.application_id".lstrip("."), "The application."),
    }
    if models_at is not None:
        tool = FORM.view(
            answer_type,
            name=field(lambda _answer: "kstream-plan", "Name of the tool.", TEXT),
            version=field(lambda _answer: __version__, "Its version.", TEXT),
            models=field(models_at, "The releases whose behaviour is modelled.", TEXT),
        )
        head["tool"] = field(lambda answer: answer, "What made the answer.", tool)
    full_description = (
        f"{description}: one JSON document per application. {details}Keys are sorted by code point. A reader ignores "
        "unknown fields and refuses another major version."
    )
    codec, extra_codec = (
        FORM.view(answer_type, full_description, **head, **declared),
        FORM.view(answer_type, **(extra or {})),
    )
    return Document(kind, f"kstream-plan {title or kind}", codec, words or {}, extra_codec)
