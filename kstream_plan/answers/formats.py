"""The JSON Schemas of what this tool reads and writes."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kstream_plan.answers.document import Document
    from kstream_plan.documents.codec import Json

#: What there is a schema of: what is written, then what is read.
KINDS = (
    "plan",
    "results",
    "compare",
    "diff",
    "said-and-happened",
    "follow",
    "upgrade",
    "switch",
    "sessioned",
    "check",
    "drain",
    "drain-workers",
    "export-target",
    "check-target",
    "why",
    "bounce",
    "history",
    "snapshot",
    "lags",
    "scenario",
    "policy",
)
#: The documents of answers by kind: the module and the name in it.
DOCUMENTS = {
    "bounce": ("bounce", "BOUNCE"),
    "check": ("check", "CHECK"),
    "check-target": ("target", "CHECK_TARGET"),
    "compare": ("compare", "COMPARE"),
    "diff": ("diff", "DIFF"),
    "drain": ("drain", "DRAIN"),
    "drain-workers": ("drain", "DRAIN_WORKERS"),
    "export-target": ("target", "EXPORT_TARGET"),
    "follow": ("follow", "FOLLOW"),
    "history": ("history", "HISTORY"),
    "said-and-happened": ("happened", "HAPPENED"),
    "sessioned": ("switch", "SESSIONED"),
    "switch": ("switch", "SWITCH"),
    "upgrade": ("upgrade", "UPGRADE"),
    "why": ("why", "WHY"),
}
#: What returns the schemas of the other documents.
_SCHEMAS = {
    "lags": "row_schemas.lags_schema",
    "plan": "plan.fields.schema",
    "policy": "policy_file.schema",
    "results": "results.schema",
    "scenario": "scenario_file.schema",
    "snapshot": "row_schemas.snapshot_schema",
}


def document_of(kind: str) -> Document:
    """Return how answers of a kind are written."""
    module, name = DOCUMENTS[kind]
    document: Document = getattr(import_module(f"kstream_plan.answers.{module}"), name)
    return document


def schema(kind: str) -> dict[str, Json]:
    """Return one schema (JSON Schema draft 2020-12).

    Raises:
        KeyError: ``kind`` is none of :data:`KINDS`.
    """
    if kind not in KINDS:
        raise KeyError(kind)
    if kind in DOCUMENTS:
        return document_of(kind).schema()
    module, _, name = _SCHEMAS[kind].rpartition(".")
    generated: dict[str, Json] = getattr(import_module(f"kstream_plan.documents.{module}"), name)()
    return generated


def load(kind: str) -> str:
    """Return the text of one schema; raises as :func:`schema`."""
    return json.dumps(schema(kind), indent=2, ensure_ascii=False) + "\n"
