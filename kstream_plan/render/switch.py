"""Whether to become a streams group, as text for a terminal, as Markdown, as JSON: the steps, and either side."""

from __future__ import annotations

import json

from kstream_plan.documents.codec import Json
from kstream_plan.documents.remarks import remarks_json
from kstream_plan.plans.simulated import Range
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.pages.switch import switch_page, switch_remarks, switch_steps
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.switch import Switch, SwitchFigures
from kstream_plan.version import __version__

_FORMAT_VERSION = "1.0"


def switch_table(found: Switch, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the steps, and what happens on each side, as lines of text, each ended."""
    return to_terminal(switch_page(found), width=width, colour=colour)


def switch_markdown(found: Switch) -> str:
    """Return the same as Markdown."""
    return to_markdown(switch_page(found))


def switch_json(found: Switch) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/switch.json``, without the line end."""
    snapshot = found.snapshot
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "switch",
        "application_id": snapshot.state.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": found.models},
        "input": {
            "snapshot_digest": found.snapshot_digest,
            "generation": snapshot.state.generation,
            "captured_at": snapshot.captured_at,
        },
        "broker_version": found.broker_version,
        "offline": True,
        "steps": list(switch_steps(found)),
        "away_ms": found.away_ms,
        "restart_ms": found.restart_ms,
        "joining": found.add,
        "instance": found.instance,
        "draws": found.draws,
        "without_effect": [one._asdict() for one in found.without_effect],
        "rows": [
            {"what": row.what, "standbys": row.standbys, "side": row.side, **_figures(row.figures)}
            for row in found.rows
        ],
        **remarks_json(switch_remarks(found)),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _figures(of: SwitchFigures) -> dict[str, Json]:
    def ends(figure: Range | None) -> Json:
        return None if figure is None else figure._asdict()

    return {
        "draws": of.draws,
        "settled": of.settled,
        "rebalances": ends(of.rebalances),
        "cold_handovers": ends(of.cold_handovers),
        "restored_records": ends(of.restored_records),
        "slowest_restore_ms": ends(of.slowest_ms),
        "max_paused_ms": ends(of.paused_ms),
        "runs_ms": ends(of.runs_ms),
        "at_least_ms": ends(of.at_least_ms),
    }
