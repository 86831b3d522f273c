"""The way from the eager to the cooperative protocol, and why it takes two bounces."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.model import Consumer, Group, GroupState, Holding, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.protocols import gives_up
from kstream_plan.protocols.interleavings import Action
from kstream_plan.protocols.upgrade import Upgrade, upgrade
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.page import as_sentence
from kstream_plan.render.pages.upgrade import upgrade_page
from kstream_plan.render.terminal import to_terminal
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import snapshot_rows
from tests.helpers.goldens import assert_golden
from tests.helpers.schemas import validator
from tests.helpers.small_groups import group, state
from tests.helpers.strategies import snapshots as drawn_snapshots

SCHEMA = validator("upgrade")


def listing(group: Group, *protocols: tuple[str, ...]) -> Group:
    """The group with these lists, by instance; the last one for all that follow."""
    lists = [*protocols, *[protocols[-1]] * len(group.instances)]
    instances = [
        replace(instance, consumers=tuple(replace(c, protocols=lists[n]) for c in instance.consumers))
        for n, instance in enumerate(group.instances)
    ]
    return Group.of(group.application_id, list(group.tasks), instances)


def running(members: Group) -> GroupState:
    return state(members, {0: Holding((0,)), 2: Holding((1, 2))}, {})


EAGER = running(listing(group(), ("eager",)))


def _groups_after(found: Upgrade) -> list[tuple[int, str, str, int]]:
    return [
        (restart.bounce, restart.process_id, restart.group_protocol, restart.cooperative_consumers)
        for restart in found.restarts
    ]


def test_a_group_that_may_not_do_as_its_consumers_list_is_not_called_cooperative(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``upgrade.from`` lets members rebalance as in the older release, whatever else is said of them."""
    row = snapshot_rows.row()
    for instance in row["instances"]:
        for consumer in instance["consumers"]:
            consumer["protocols"] = ["cooperative"]
    path = tmp_path / "snapshot.json"
    for setting, code, tone in ((None, 0, "good"), ("2.3", 3, "unknown")):
        path.write_text(json.dumps({**row, "config": {"num_standby_replicas": 0, "upgrade_from": setting}}))
        assert run(["upgrade", str(path), "--to", "cooperative", "--set", "one.bounce=true"]) == code
        shown = " ".join(capsys.readouterr().out.split())
        assert ("upgrade.from is 2.3" in shown) is bool(setting)
        assert ("UNKNOWN" in shown) is bool(setting)
        [read] = snapshots.read([str(path)])
        assert isinstance(read, Snapshot)
        assert upgrade_page(upgrade(read.state, doubts=read.warnings)).tone == tone


def test_the_group_stays_eager_through_the_first_bounce_and_turns_in_the_second() -> None:
    assert _groups_after(upgrade(EAGER)) == [
        (1, "i1", "eager", 0),
        (1, "i2", "eager", 0),
        (1, "i3", "eager", 0),
        (2, "i1", "mixed", 2),
        (2, "i2", "mixed", 4),
        (2, "i3", "cooperative", 6),
    ]


def test_an_upgrade_goes_on_where_it_was_left() -> None:
    half = running(listing(group(), ("cooperative",), ("cooperative", "eager")))
    assert _groups_after(upgrade(half)) == [(2, "i2", "mixed", 4), (2, "i3", "cooperative", 6)]
    assert upgrade(half).one_bounce is None  # nobody of old code is left
    assert not upgrade(half).takes_two
    page = upgrade_page(upgrade(half), one_bounce=True)
    assert (page.answer, page.tone) == (Answer.YES, "good")
    assert "one more rolling bounce is enough" in page.sentences[0]
    done = upgrade(running(group()))
    assert done == Upgrade((), (), None, group())
    assert "cooperative already" in to_table(done, width=80)


@given(snapshot=drawn_snapshots())
def test_every_group_ends_cooperative(snapshot: Snapshot) -> None:
    found = upgrade(snapshot.state)
    assert bool(found.restarts) == bool(gives_up(snapshot.state.group, "mixed"))
    if found.restarts:
        assert found.restarts[-1].group_protocol == "cooperative"
        assert found.restarts[-1].cooperative_consumers == len(snapshot.state.group.consumer_ids)
    SCHEMA.validate(json.loads(to_json(found)))


def test_one_bounce_gives_a_task_two_owners() -> None:
    wrong = upgrade(EAGER).one_bounce
    assert wrong is not None
    assert str(wrong.task_id) == "0_0"
    assert [(event.member, event.action) for event in wrong.events] == [
        (0, Action.JOINS),
        (1, Action.JOINS),
        (1, Action.RECEIVES),
    ]
    assert wrong.events[0].owned & wrong.events[-1].owned


def test_members_that_cannot_mix_are_named() -> None:
    first, *others = EAGER.group.instances
    strange = (Consumer(consumer_id="rdkafka-7", protocols=("eager",)), Consumer(consumer_id="x", protocols=("range",)))
    members = Group.of("orders", list(EAGER.group.tasks), [replace(first, consumers=strange), *others])
    found = upgrade(replace(EAGER, group=members))
    assert [consumer_id for _, consumer_id, _ in found.cannot_mix] == ["rdkafka-7", "x"]
    assert [restart.group_protocol for restart in found.restarts] == ["eager"] * 3 + ["mixed", "mixed", "cooperative"]
    page, document = upgrade_page(found), json.loads(to_json(found))
    assert [line.code for line in page.lines] == ["cannot-take-part"] * 2
    assert "rdkafka-7 cannot take part: its id is that of a client that is not Java's" in page.lines[0].text
    assert [line.text for line in page.lines] == [as_sentence(note["message"]) for note in document["warnings"]]
    assert page.tone == "bad"
    SCHEMA.validate(document)


def test_what_is_not_told_is_not_taken_for_cooperative() -> None:
    report = running(group())
    untold = frozenset(report.group.consumer_ids)
    found = upgrade(report, untold)
    assert _groups_after(found) == _groups_after(upgrade(EAGER))
    assert found.takes_two
    page = upgrade_page(found)
    assert page.tone == "unknown"
    assert page.sentences[0].startswith("It is unknown whether the group is cooperative already")
    assert [line.code for line in page.lines] == ["unknown-protocols"]
    refused = upgrade_page(found, one_bounce=True)
    assert refused.answer is Answer.NO
    assert "already" not in refused.sentences[0]
    SCHEMA.validate(json.loads(to_json(found)))
    some = upgrade(report, frozenset(report.group.consumer_ids[:2]))
    assert _groups_after(some)[0] == (1, "i2", "mixed", 2)
    assert upgrade_page(some).lines[-1].text.endswith("counted as eager.")


def test_a_snapshot_says_of_which_consumers_it_tells_nothing() -> None:
    read = snapshot_from_row(snapshot_rows.row(), "x")
    assert read.untold_protocols == {"orders-1-1", "orders-1-2"}


def test_who_lists_cooperative_only_beside_eager_ones_goes_back_first() -> None:
    half = running(listing(group(), ("eager",), ("cooperative",), ("eager",)))
    found = upgrade(half)
    assert _groups_after(found)[:4] == [
        (1, "i2", "eager", 0),
        (1, "i1", "eager", 0),
        (1, "i3", "eager", 0),
        (2, "i1", "mixed", 2),
    ]
    page = upgrade_page(found)
    assert (page.tone, [line.code for line in page.lines]) == ("bad", ["two-owners"])
    assert [consumer_id for _, consumer_id in found.split] == list(half.group.consumer_ids[2:4])
    SCHEMA.validate(json.loads(to_json(found)))
    assert not upgrade(running(listing(group(), ("cooperative",), ("cooperative", "eager")))).split


def test_what_it_looks_like() -> None:
    found = upgrade(EAGER)
    assert_golden("upgrade/two-bounces.txt", to_table(found, width=80))
    assert_golden("upgrade/one-bounce.txt", to_terminal(upgrade_page(found, one_bounce=True), width=80))
    assert_golden("upgrade/two-bounces.md", to_markdown(found))


def test_the_command_refuses_one_bounce(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def read(_paths: object, **_options: object) -> Any:
        return (Snapshot(state=EAGER, config=AssignmentConfig()),)

    monkeypatch.setattr(snapshots, "read", read)
    assert run(["upgrade", "x.json", "--to", "cooperative"]) == 0
    shown = to_table(upgrade(EAGER), width=80)
    assert capsys.readouterr().out == shown.replace("SNAPSHOT", "x.json")
    assert run(["upgrade", "x.json", "--to", "cooperative", "--set", "one.bounce=true", "--output", "markdown"]) == 3
    assert "**NO**: The upgrade takes two rolling bounces" in capsys.readouterr().out
    assert run(["upgrade", "x.json", "--to", "cooperative", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "upgrade"
    assert run(["upgrade", "x.json", "--to", "eager"]) == 2
    assert run(["upgrade", "x.json"]) == 2
