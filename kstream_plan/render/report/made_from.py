"""What a plan was made from, by which rules and with which settings, to be looked up at the end of a page."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model.settings import CONNECT_GROUP_ONLY
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.plans import Plan
from kstream_plan.render.report.page import Labelled, Lookup
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration

_OF_MEMBERS = ("heartbeat_interval_ms", "session_timeout_ms")
_OF_PROBES = ("max_warmup_replicas", "acceptable_recovery_lag", "probing_rebalance_interval_ms")


def made_from(plan: Plan, names: Names) -> Iterator[Lookup]:
    """Yield what a plan was made from and how, and the settings that decide its times."""
    origin = {
        "captured": plan.captured_at or "unknown",
        "generation": f"{plan.generation:,}" if plan.generation else "unknown",
        "input (SHA-256)": plan.digest,
        "snapshot and settings (SHA-256)": plan.snapshot_digest,
        "design": plan.design,
        "assignor": plan.assignor,
        "protocol": plan.protocol,
        "models": plan.models,
    }
    yield Lookup("Made from", tuple(Labelled(label, names.escape(text)) for label, text in origin.items() if text))
    yield Lookup("With these settings", tuple(_settings(plan)))


def _settings(plan: Plan) -> Iterator[Labelled]:
    """Yield those that this kind of group has, by Kafka's names."""
    for name, field in _names(plan):
        value = getattr(plan.config, field)
        if value is not None:
            text = duration(value) if field.endswith("_ms") else f"{value:,}"
            yield Labelled(name.replace("_", "."), text)


def _names(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting, and of the field that has it."""
    if plan.design == "streams":
        yield from ((name, field) for name, (field, *_) in GROUP_SETTINGS.items())
        return
    other_settings = CONNECT_GROUP_ONLY if plan.is_of_workers else ("num_standby_replicas", *_OF_PROBES * plan.probes)
    yield from ((name, name) for name in (*other_settings, *_OF_MEMBERS))
