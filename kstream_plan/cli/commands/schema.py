"""``schema``: print a JSON Schema."""

from __future__ import annotations

from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.output import say
from kstream_plan.documents import schemas as json_schemas


def schema(
    kind: options.SchemaKind,
) -> None:
    """Print the JSON Schema of what is written (plan and more) or read (snapshot and more)."""
    with expected_failures():
        say(json_schemas.load(kind))
