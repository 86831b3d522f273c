"""How Connect workers get to ``sessioned``: what the restarts stop, and what happens then by either protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.errors import UsageError
from kstream_plan.model.connect_group import DELAY_UNKNOWN, WORKER_SILENT
from kstream_plan.plans.simulated import Range
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.page import as_sentence
from kstream_plan.render.pages.sessioned import sessioned_page
from kstream_plan.simulation.connect_upgrade import SessionedUpgrade, UpgradeFigures, to_sessioned
from tests.helpers import captured_scenarios
from tests.helpers.connect_rows import even, snapshot
from tests.helpers.schemas import validator

HEARD_MS = 3_000
DELAY_MS = 300_000


def upgrade(protocol: str, workers: int = 3, **options: Any) -> SessionedUpgrade:
    return to_sessioned(snapshot(even(workers, config={"connect_protocol": protocol})), **options)


def figures(found: SessionedUpgrade) -> dict[tuple[str, str], UpgradeFigures]:
    return {(row.what, row.protocol): row.figures for row in found.rows}


@given(workers=st.integers(2, 5))
def test_from_eager_everything_stops_twice_for_each_worker_and_once_more_at_the_end(workers: int) -> None:
    item = figures(upgrade("eager", workers))["upgrade", "eager"]
    assert item.rebalances.least >= 2 * workers  # the last return revokes, if there is anything to revoke
    assert item.at_once == 5 * workers
    assert item.settled_draws == item.draws
    # a worker's own work stops before the others hear of it; what moves at the end stands still for a rebalance more
    assert 2 * workers * HEARD_MS <= item.longest_ms <= (2 * workers + 1) * HEARD_MS
    assert item.item_ms.least >= 5 * workers * 2 * workers * HEARD_MS


def test_from_compatible_nothing_stops_but_by_the_restarts() -> None:
    found = upgrade("compatible")
    assert [row.what for row in found.rows] == ["upgrade"]
    item = found.rows[0].figures
    assert item.settled_draws == item.draws
    assert DELAY_MS < item.longest_ms < 2 * DELAY_MS
    assert found.pause_ms + found.restart_ms >= DELAY_MS
    without = to_sessioned(
        snapshot(even(3, config={"connect_protocol": "compatible", "scheduled_rebalance_max_delay_ms": 0}))
    )
    assert without.rows[0].figures.longest_ms < 60_000


def test_what_an_eager_group_gets_for_it_is_told_and_so_is_what_it_loses() -> None:
    found = upgrade("eager")
    item = figures(found)
    assert item["join", "eager"].at_once == 15
    assert item["join", "sessioned"].at_once < 15
    assert item["restart", "eager"].longest_ms == 2 * HEARD_MS
    assert item["restart", "sessioned"].longest_ms == DELAY_MS + HEARD_MS
    assert item["restart-leader", "sessioned"].longest_ms == 2 * HEARD_MS
    assert item["crash", "sessioned"].longest_ms == DELAY_MS + 10_000 + HEARD_MS
    assert (found.leader, found.worker) == ("w0", "w1")
    assert sessioned_page(found).title.endswith("from eager to sessioned")
    answer = " ".join(found.steps)
    assert "what a stopped worker ran is unassigned that long" in answer
    assert "As long as one worker supports eager only, the group is eager" in answer


def test_what_is_unknown_of_the_workers_is_warned_of() -> None:
    """A worker does not answer, and what another one ran is unassigned: for how long is unknown."""
    item = even(4, config={"connect_protocol": "compatible"}, exact=False)
    item["instances"] = [{"answered": place != 1, **worker} for place, worker in enumerate(item["instances"][:-1])]
    read = snapshot(item)
    assert {DELAY_UNKNOWN, WORKER_SILENT} <= {note.code for note in read.warnings}
    found = to_sessioned(read, number_of_draws=1)
    assert {*read.warnings} <= {*found.remarks.warnings}
    assert {*read.assumptions} <= {*found.remarks.assumptions}
    page = sessioned_page(found)
    assert page.tone != "good"
    assert all(cell.items[0].endswith(", or unknown") for cell in page.tables[1].rows[0].cells[4:])
    assert json.loads(to_json(found))["rows"][0]["times_open"]
    assert not upgrade("compatible").rows[0].figures.times_open


def test_ids_of_workers_that_are_back_are_drawn() -> None:
    item = even(3, config={"connect_protocol": "eager"})
    for place, worker in enumerate(item["instances"]):
        worker["process_id"] = f"connect-h{place}:8083-{place:08x}-571c-4eee-96be-fa395e3c536c"
    found = to_sessioned(snapshot(item), number_of_draws=3)
    assert {row.figures.draws for row in found.rows} == {3}
    assert found.rows[0].figures.settled_draws == 3
    assert isinstance(found.rows[0].figures.item_ms, Range)


@pytest.mark.parametrize(("protocol", "workers"), [("eager", 3), ("eager", 2), ("compatible", 3)])
def test_every_form_tells_the_same(protocol: str, workers: int) -> None:
    found = upgrade(protocol, workers)
    document = json.loads(to_json(found))
    validator("sessioned").validate(document)
    page = sessioned_page(found)
    assert [row.cells[1].items[0] for row in page.tables[0].rows] == document["steps"]
    assert [row.cells[3].items[0] for row in page.tables[1].rows] == [f"{row['at_once']:,}" for row in document["rows"]]
    kinds = {"warning": "warnings", "note": "notes", "assumption": "assumptions", "next": "next"}
    assert [(kinds[line.kind], line.text) for line in page.lines] == [
        (kind, note["message"] if kind == "next" else as_sentence(note["message"]))
        for kind in kinds.values()
        for note in document[kind]
    ]
    for text in (to_table(found), to_markdown(found)):
        assert "instance" not in text
    assert max(map(len, to_table(found, width=80).splitlines())) <= 80


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (snapshot(even(3)), "sessioned already"),
        (snapshot(even(1)), "sessioned already, by its connect_protocol in the snapshot or, without one, by default"),
        (snapshot(even(1, config={"connect_protocol": "eager"})), "one worker"),
        (captured_scenarios.before("scale-out"), "a classic group"),
    ],
)
def test_what_cannot_be_upgraded_is_refused(item: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        to_sessioned(item)
    assert error.value.fix


def test_on_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    eager = snapshot(even(3, config={"connect_protocol": "eager"}))
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: [eager])
    for form, start in (("table", "╭─ live: 3 workers"), ("markdown", "### live"), ("json", '{"application_id":')):
        assert run(["upgrade", "x.json", "--to", "sessioned", "--restart", "20s", "--output", form]) == 0
        assert capsys.readouterr().out.startswith(start)
    for arguments, message in (
        (["--to", "sessioned", "--restore-rate", "5/s"], "--restore-rate is about --to streams"),
        (["--to", "sessioned", "--set", "one.bounce=true"], "--set one.bounce is about --to cooperative"),
        (["--to", "cooperative", "--add", "2"], "--add is about --to streams and --to sessioned"),
        (["--to", "cooperative"], "it is a connect group"),
    ):
        assert run(["upgrade", "x.json", *arguments]) == 2
        assert message in capsys.readouterr().err
