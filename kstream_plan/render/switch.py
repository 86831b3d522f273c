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


def switch_table(switch: Switch, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the steps, and what happens on each side, as lines of text, each ended."""
    return to_terminal(switch_page(switch), width=width, colour=colour)


def switch_markdown(switch: Switch) -> str:
    """Return the same as Markdown."""
    return to_markdown(switch_page(switch))


def switch_json(switch: Switch) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/switch.json``, without the line end."""
    snapshot = switch.snapshot
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "switch",
        "application_id": snapshot.state.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": switch.models},
        "input": {
            "snapshot_digest": switch.snapshot_digest,
            "generation": snapshot.state.generation,
            "captured_at": snapshot.captured_at,
        },
        "broker_version": switch.broker_version,
        "offline": True,
        "steps": list(switch_steps(switch)),
        "away_ms": switch.away_ms,
        "restart_ms": switch.restart_ms,
        "joining": switch.add,
        "instance": switch.instance,
        "draws": switch.draws,
        "without_effect": [setting._asdict() for setting in switch.without_effect],
        "rows": [
            {"what": row.what, "standbys": row.standbys, "side": row.side, **_figures(row.figures)}
            for row in switch.rows
        ],
        **remarks_json(switch_remarks(switch)),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _figures(figures: SwitchFigures) -> dict[str, Json]:
    def ends(figure: Range | None) -> Json:
        return None if figure is None else figure._asdict()

    return {
        "draws": figures.draws,
        "settled": figures.settled,
        "rebalances": ends(figures.rebalances),
        "cold_handovers": ends(figures.cold_handovers),
        "restored_records": ends(figures.restored_records),
        "slowest_restore_ms": ends(figures.slowest_ms),
        "max_paused_ms": ends(figures.paused_ms),
        "runs_ms": ends(figures.runs_ms),
        "at_least_ms": ends(figures.at_least_ms),
    }
