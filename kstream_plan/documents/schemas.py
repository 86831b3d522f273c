"""The JSON Schemas of what this tool reads and writes."""

from __future__ import annotations

import json
from importlib import resources

#: What there is a schema of: what is written, then what is read.
KINDS = (
    "plan",
    "results",
    "compare",
    "diff",
    "said-and-happened",
    "upgrade",
    "switch",
    "sessioned",
    "check",
    "drain",
    "drain-workers",
    "why",
    "bounce",
    "history",
    "snapshot",
    "lags",
    "scenario",
    "policy",
)


def load(kind: str) -> str:
    """Return the text of one schema (JSON Schema draft 2020-12).

    Raises:
        KeyError: ``kind`` is none of :data:`KINDS`.
    """
    if kind not in KINDS:
        raise KeyError(kind)
    if kind == "plan":
        from kstream_plan.documents.plan.fields import schema  # noqa: PLC0415 - takes its time

        return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    if kind == "results":
        from kstream_plan.documents.results import schema as results_schema  # noqa: PLC0415 - takes its time

        return json.dumps(results_schema(), indent=2, ensure_ascii=False) + "\n"
    return (resources.files("kstream_plan.documents") / "schemas" / f"{kind}.json").read_text(encoding="utf-8")
