"""What a screen says at first reading of moments, of who has gone, and of what was not seen."""

from __future__ import annotations

import pytest

from tests.helpers.screens import EXAMPLES, folder_of, run_in

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark")]

_LATER = "--now 2026-11-22T15:00:00Z"
_BY_POLICY = "--add 2 --draws 1 --vary max.warmup.replicas=2,4"


def said(words: str) -> str:
    folder = folder_of("classic-5")
    (folder / "gone.yaml").write_text(
        "version: 1\nevents:\n  - {at: 0s, crash: orders-1}\n  - {at: 20m, stop: orders-2}\n", encoding="utf-8"
    )
    (folder / "never.yaml").write_text("version: 1\ndefaults: {max_duration: 1s}\n", encoding="utf-8")
    return " ".join(run_in("classic-5", words).replace("│", " ").split())


def test_a_check_and_a_comparison_by_policy_say_when_the_plan_begins() -> None:
    """Limits go by ``--now``, the plan begins with the snapshot."""
    assert "; plan begins 2026-11-22 12:00:00 UTC" in said(
        f"check before.json --add 2 --draws 1 --policy never.yaml {_LATER}"
    )
    assert "; plans begin then" in said(f"compare before.json {_BY_POLICY} --policy never.yaml {_LATER}")
    assert "begin then" not in said(f"compare before.json {_BY_POLICY}")


def test_no_command_is_told_where_no_alternative_keeps_to_the_policy() -> None:
    assert "Next: " in said(f"compare before.json {_BY_POLICY}")
    assert "Next: " not in said(f"compare before.json {_BY_POLICY} --policy never.yaml")


def test_who_crashes_or_stops_does_not_leave() -> None:
    text = said("simulate before.json gone.yaml --no-what-if --restore-rate 300/s")
    assert ": 1 crash, 1 stop, " in text
    assert "crashed" in text
    assert "stopped" in text
    assert "1 leave" not in text


def test_a_plan_that_begins_later_says_that_nothing_was_seen_since() -> None:
    """Tasks that the last known rebalance revoked count as unassigned until then."""
    log, settings = EXAMPLES / "leader-log" / "orders.log", EXAMPLES / "leader-log" / "app.properties"
    run_in("classic-5", f"snapshot --leader-log {log} --streams-config {settings} --out moving.json")
    assert "when the plan begins, if no rebalance came after 2026-11-21 13:01:42 UTC: none was seen." in said(
        "assign moving.json --now 2026-11-21T13:10:00Z"
    )
    assert "came after" not in said("assign moving.json")
