"""Whether to become a streams group, and how a Connect group gets to ``sessioned``, as JSON: steps, either side."""

from __future__ import annotations

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model import Snapshot
from kstream_plan.render.json_document import document_line, pick, plain
from kstream_plan.render.pages.sessioned import sessioned_remarks, sessioned_steps
from kstream_plan.render.pages.switch import switch_remarks, switch_steps
from kstream_plan.simulation.sessioned import SessionedUpgrade
from kstream_plan.simulation.switch import Switch, SwitchFigures


def switch_json(switch: Switch) -> str:
    """Return the answer as one line of JSON, described by ``documents/schemas/switch.json``, without the line end."""
    snapshot = switch.snapshot
    answer_fields = {
        "input": _input(snapshot, switch.snapshot_digest),
        "group": _group(snapshot),
        **pick(switch, "broker_version", "away_ms", "restart_ms", "instance", "draws", "without_effect"),
        "offline": True,
        "steps": list(switch_steps(switch)),
        "joining": switch.add,
        "rows": [{**pick(row, "what", "standbys", "side"), **_figures(row.figures)} for row in switch.rows],
        **plain(switch_remarks(switch)),
    }
    return document_line("switch", "1.0", snapshot.state.group.application_id, switch.models, answer_fields)


def sessioned_json(upgrade: SessionedUpgrade) -> str:
    """Return the answer as one line of JSON, ``documents/schemas/sessioned.json``, without the line end."""
    snapshot = upgrade.snapshot
    answer_fields = {
        "input": _input(snapshot, upgrade.snapshot_digest),
        "group": _group(snapshot),
        **pick(upgrade, "protocol", "restart_ms", "pause_ms", "worker", "leader", "draws"),
        "steps": list(sessioned_steps(upgrade)),
        "joining": upgrade.add,
        "rows": [{"what": row.what, "protocol": row.protocol, **plain(row.figures)} for row in upgrade.rows],
        **plain(sessioned_remarks(upgrade)),
    }
    application_id = snapshot.state.group.application_id
    return document_line("sessioned", FORMAT_VERSION, application_id, upgrade.models, answer_fields)


def _input(snapshot: Snapshot, digest: str) -> Json:
    return {"snapshot_digest": digest, "generation": snapshot.state.generation, "captured_at": snapshot.captured_at}


def _group(snapshot: Snapshot) -> Json:
    return {"instances": len(snapshot.state.group.instances), "tasks": len(snapshot.state.group.tasks)}


def _figures(figures: SwitchFigures) -> dict[str, Json]:
    document = plain(figures)
    renamed = {"slowest_restore_ms": document.pop("slowest_ms"), "max_paused_ms": document.pop("paused_ms")}
    return {**document, **renamed}
