"""Whether to become a streams group, as JSON: the steps, and either side."""

from __future__ import annotations

from kstream_plan.documents.codec import Json
from kstream_plan.render.json_document import document_line, plain
from kstream_plan.render.pages.switch import switch_remarks, switch_steps
from kstream_plan.simulation.switch import Switch, SwitchFigures


def switch_json(switch: Switch) -> str:
    """Return the answer as one line of JSON, described by ``documents/schemas/switch.json``, without the line end."""
    snapshot = switch.snapshot
    answer_fields = {
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
        "without_effect": plain(switch.without_effect),
        "rows": [
            {"what": row.what, "standbys": row.standbys, "side": row.side, **_figures(row.figures)}
            for row in switch.rows
        ],
        **plain(switch_remarks(switch)),
    }
    return document_line("switch", "1.0", snapshot.state.group.application_id, switch.models, answer_fields)


def _figures(figures: SwitchFigures) -> dict[str, Json]:
    document = plain(figures)
    renamed = {"slowest_restore_ms": document.pop("slowest_ms"), "max_paused_ms": document.pop("paused_ms")}
    return {**document, **renamed}
