"""How a Connect group gets to ``sessioned``, as text for a terminal, as Markdown, as JSON: the steps, either side."""

from __future__ import annotations

import json

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.documents.remarks import remarks_json
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.pages.sessioned import sessioned_page, sessioned_remarks, sessioned_steps
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.sessioned import SessionedUpgrade, UpgradeRow
from kstream_plan.version import __version__


def sessioned_table(found: SessionedUpgrade, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the steps, and what happens by either protocol, as lines of text, each ended."""
    return to_terminal(sessioned_page(found), width=width, colour=colour)


def sessioned_markdown(found: SessionedUpgrade) -> str:
    """Return the same as Markdown."""
    return to_markdown(sessioned_page(found))


def sessioned_json(found: SessionedUpgrade) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/sessioned.json``, without the line end."""
    snapshot = found.snapshot
    document: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "kind": "sessioned",
        "application_id": snapshot.state.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": found.models},
        "input": {
            "snapshot_digest": found.snapshot_digest,
            "generation": snapshot.state.generation,
            "captured_at": snapshot.captured_at,
        },
        "protocol": found.protocol,
        "steps": list(sessioned_steps(found)),
        "restart_ms": found.restart_ms,
        "pause_ms": found.pause_ms,
        "joining": found.add,
        "worker": found.worker,
        "leader": found.leader,
        "draws": found.draws,
        "rows": [_row(row) for row in found.rows],
        **remarks_json(sessioned_remarks(found)),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _row(row: UpgradeRow) -> dict[str, Json]:
    of = row.figures
    return {
        "what": row.what,
        "protocol": row.protocol,
        "draws": of.draws,
        "settled": of.settled,
        "rebalances": of.rebalances._asdict(),
        "at_once": of.at_once,
        "longest_ms": of.longest_ms,
        "item_ms": of.item_ms._asdict(),
        "takes_ms": of.takes_ms._asdict(),
    }
