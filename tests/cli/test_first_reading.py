"""What a screen says at first reading of moments, of who has gone, and of what was not seen."""

from __future__ import annotations

import json

import pytest

from kstream_plan.model.settings import SETTINGS_IN_FORCE
from tests.helpers.screens import EXAMPLES, folder_of, run_in

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark")]

_LATER = "--set now=2026-11-22T15:00:00Z"
_BY_POLICY = "--add 2 --set draws=1 --vary max.warmup.replicas=2,4"


def said(words: str) -> str:
    folder = folder_of("classic-5")
    (folder / "gone.yaml").write_text(
        "version: 1\nevents:\n  - {at: 0s, crash: orders-1}\n  - {at: 20m, stop: orders-2}\n", encoding="utf-8"
    )
    (folder / "never.yaml").write_text("version: 1\ndefaults: {max_duration: 1s}\n", encoding="utf-8")
    return " ".join(run_in("classic-5", words).replace("│", " ").split())


def test_a_check_and_a_comparison_by_policy_say_when_the_plan_begins() -> None:
    """Limits go by ``--set now``, the plan begins with the snapshot."""
    assert "; plan begins 2026-11-22 12:00:00 UTC" in said(
        f"check before.json --add 2 --set draws=1 --policy never.yaml {_LATER}"
    )
    assert "; plans begin then" in said(f"compare before.json {_BY_POLICY} --policy never.yaml {_LATER}")
    assert "begin then" not in said(f"compare before.json {_BY_POLICY}")


def test_no_command_is_told_where_no_alternative_keeps_to_the_policy() -> None:
    assert "Next: " in said(f"compare before.json {_BY_POLICY}")
    assert "Next: " not in said(f"compare before.json {_BY_POLICY} --policy never.yaml")


def test_who_crashes_or_stops_does_not_leave() -> None:
    text = said("simulate before.json gone.yaml --set what.if=false --restore-rate 300/s")
    assert ": 1 crash, 1 stop, " in text
    assert "crashed" in text
    assert "stopped" in text
    assert "1 leave" not in text


def test_a_plan_that_begins_later_says_that_nothing_was_seen_since() -> None:
    """Tasks that the last known rebalance revoked count as unassigned until then."""
    log, settings = EXAMPLES / "leader-log" / "orders.log", EXAMPLES / "leader-log" / "app.properties"
    run_in("classic-5", f"snapshot {log} --streams-config {settings} --out moving.json")
    assert "when the plan begins, if no rebalance came after 2026-11-21 13:01:42 UTC: none was seen." in said(
        "assign moving.json --set now=2026-11-21T13:10:00Z"
    )
    assert "came after" not in said("assign moving.json")


def test_a_lost_zone_names_why_tasks_start_cold_what_avoids_it_and_which_more_may() -> None:
    zones, rate = EXAMPLES / "zones", "--restore-rate 5000/s"
    text = said(f"simulate {zones}/orders.json {zones}/zone-a-lost.yaml")
    assert "4 (4 to 8) cold starts: all copies of each task were in zone a, so it restores first; " in text
    assert "with rack.aware.assignment.tags=zone before, a standby would have been in another zone. " in text
    assert "Up to 4 more cold starts when they start again. " in text
    assert "No setting of this table avoids the cold starts." in text
    assert "4 tasks start cold, in 4 (4 to 8) starts: 0_0, 0_1, 0_4, 0_5. " in text
    assert "Not proven to be warm: 4 more starts, at 30m06s to 40m12s (0_0, 0_1, 0_4, 0_5)." in text
    assert "7 at least 40m18s 0 to 4 40m18s" in text
    crash = "version: 1\nevents:\n  - {at: 0s, crash: [orders-0, orders-1]}\n"
    (folder_of("classic-5") / "crash.yaml").write_text(crash, encoding="utf-8")
    lost = f"simulate {zones}/orders.json crash.yaml --set what.if=false"
    assert "4 tasks that start cold still restore then: until when is unknown." in said(lost)
    assert "4 tasks that start cold still restore then: all tasks run after about 4m45s." in said(f"{lost} {rate}")
    tagged = said(f"{lost} {rate} --set rack.aware.assignment.tags=zone")
    assert "in zone a, so it restores first. " in tagged


def test_without_standbys_the_only_copy_of_what_an_instance_ran_is_gone() -> None:
    example = EXAMPLES / "scale-out"
    text = said(f"simulate {example}/before.json {example}/scenario.yaml --set draws=1 --set what.if=false")
    cause = "the only copy of each task was on an instance that is gone (num.standby.replicas=0), so it restores first."
    assert cause in text
    assert "all copies" not in text


def test_a_start_that_is_not_proven_warm_is_in_the_range_of_cold_starts_of_a_restart() -> None:
    text = said(f"bounce {EXAMPLES}/zones/orders.json --set stores=persistent")
    assert "Default close is safe with no wait between restarts: no task starts cold, " in text
    assert "Static members are faster and as safe, but have to be set up first. " in text
    assert "Leave on close is faster, but up to 17 starts may be cold. " in text
    assert "leave likely 0s 2m43s 7 (7 to 8) 5 at least 0 (0 to 17)" in text
    assert "surge of one: up to 50 cold starts may follow" in text
    assert "a process in its default close() also waits until a rebalance under way has ended" in text
    assert "without proof" not in text


def test_a_setting_that_would_help_a_rule_says_how_long_the_plan_then_takes_and_what_still_starts_cold() -> None:
    zones, folder = EXAMPLES / "zones", folder_of("classic-5")
    tags = said(f"check {zones}/orders.json --policy {zones}/policy.yaml --set now=2026-11-21T12:00:10Z")
    assert "zone: 1 zone: 2 at the end, all copies in 1 of 2 values of zone: 0_0, 0_1, 0_2 and 5 more" in tags
    assert tags.endswith("--set rack.aware.assignment.tags=zone")
    (folder / "soon.yaml").write_text("version: 1\ndefaults: {max_duration: 30m}\n", encoding="utf-8")
    lost = f"--scenario {zones}/zone-a-lost.yaml --policy soon.yaml --set now=2026-11-21T12:00:10Z"
    text = said(f"check {zones}/orders.json {lost}")
    assert "4 to 8 starts are cold." in text
    assert "then about 24m18s, which does not avoid the 4 to 8 cold starts" in text
    pauses = said(f"check {EXAMPLES}/scale-out/snapshot.json --policy {EXAMPLES}/ci/policy.yaml")
    assert "max.warmup.replicas=4, then 15.1s, settled in about 5m30s" in pauses


def test_generations_of_a_log_without_their_numbers_have_one_number_in_every_command() -> None:
    log, settings = EXAMPLES / "scale-out" / "leader.log.gz", EXAMPLES / "scale-out" / "app.properties"
    source = f"{log} --streams-config {settings}"
    listed = said(f"snapshot {source} --list")
    assert "2026-11-21 13:00:17 1 join 3" in listed
    assert "2026-11-21 13:11:34 23 follow-up 5" in listed
    assert "counted in it, and why and diff take these numbers." in listed
    run_in("classic-5", f"snapshot {source} --all --out numbered.jsonl")
    assert "snapshot: generation 23, 2026-11-21 13:11:34 UTC" in said("assign numbered.jsonl")
    assert "snapshot: generation 13, 2026-11-21 13:06:06 UTC" in said("why numbered.jsonl --generation 13")
    first = said("diff numbered.jsonl --from 0 --to 1 -v")
    assert "S1: generation 0 → 1, " in first
    assert "before generation 1 until 2026-11-21 13:00:17" in first
    assert "Tasks that started From To Tasks Which" in first
    assert "0_0 started – i3/1 0 0 –" in first
    assert "left-over" not in first


def test_a_connect_worker_that_returns_has_one_member_id_in_the_plan() -> None:
    workers, back = EXAMPLES / "connect" / "workers.json", folder_of("classic-5") / "back.yaml"
    back.write_text("version: 1\nevents:\n  - {at: 0s, bounce: {instances: all, restart: 20s}}\n", encoding="utf-8")
    text = said(f"simulate {workers} back.yaml --set what.if=false")
    assert "its member id is random. The plan uses the old id, because the new one is unknown: with " in text


def test_every_command_says_in_the_same_words_that_other_settings_take_a_restart() -> None:
    words, now = f"{SETTINGS_IN_FORCE}.", "--set now=2026-11-21T12:00:10Z"
    orders = f"{EXAMPLES}/zones/orders.json"
    more = "--max-warmup-replicas 8"
    for command in (
        f"assign {orders} {more}",
        f"why {orders} {more}",
        f"bounce {orders} --set stores=persistent --instance orders-1 {more} {now}",
        f"drain {orders} orders-1 {more} {now}",
        f"compare {orders} --add 1 --set draws=1 --vary max.warmup.replicas=2,8",
        f"simulate {orders} {EXAMPLES}/zones/zone-a-lost.yaml",
        f"drain {EXAMPLES}/scale-out/before.json i3 --set now=2026-11-21T13:00:39Z",
        f"drain {EXAMPLES}/connect/workers.json 10.0.0.1:8083 --set now=2026-11-22T12:00:10Z",
    ):
        assert said(command).count(words) == 1, command


def test_check_gives_json_and_markdown_as_every_command_does() -> None:
    checked = f"check {EXAMPLES}/zones/orders.json --policy {EXAMPLES}/zones/policy.yaml --set now=2026-11-21T12:00:10Z"
    assert "--output json has all" in said(checked)
    document = json.loads(run_in("classic-5", f"{checked} --output json"))
    assert [finding["rule"] for finding in document["plans"][0]["findings"]][:1] == ["distinct_tag_values"]
    assert said(f"{checked} --output markdown").startswith("<!-- kstream-plan check --> ### orders: 4 instances")


def test_a_streams_group_that_scales_out_starts_tasks_cold_because_it_has_no_warm_ups() -> None:
    group = EXAMPLES / "streams-group"
    files = f"{group}/group.txt --topology {group}/topology.txt"
    run_in("classic-5", f"snapshot {files} --set broker.version=4.2 --out streams.json")
    text = said("simulate-scaleout streams.json --add 1 --set draws=1")
    assert (
        "6 cold starts: a streams group has no warm-ups, and moves a task before its state is restored there. " in text
    )
    drained = said("drain streams.json 473f")
    assert (
        "Warning: no end offset is known for 24 stateful tasks, 0_0 first: how much they restore is unknown" in drained
    )
