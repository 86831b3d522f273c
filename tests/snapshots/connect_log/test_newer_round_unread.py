"""Connect logs whose newest round is cut or damaged: no answer says YES by the round before."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.model.answer import Answer
from kstream_plan.model.not_modelled import NEWER_UNREAD
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.simulation.drain_workers import drain_workers
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.connect_log.history import ConnectEntry, checked_row, read_connect_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.benchmarks.replay_vectors import records
from tests.helpers.check_cases import NOW
from tests.helpers.connect_logs import written
from tests.helpers.replayed_connect import Played, played

VECTORS = Path(__file__).parents[2] / "vectors"
#: More workers take longer to read, and are no other case.
MOST_WORKERS = 4
#: What is left of a round, however little it is, has one of these in it.
SIGNS = ("Successfully joined group with generation ", "Joined group at generation ")


@cache
def histories() -> Sequence[Sequence[Played]]:
    """Histories of some rounds of a few workers each, by incremental protocols."""
    found = (record["in"] for record in islice(records(VECTORS / "connect-sequences.jsonl.gz"), 6, None, 20))
    all_played = ([*played(case, 17)] for case in found if case["protocol"] != "eager")
    return [rounds[:4] for rounds in all_played if len(rounds) > 1 and len(rounds[0].cluster.members) <= MOST_WORKERS]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Mapping[str, str], int, int]:
    """Logs of which some are cut or damaged from their newest round on, the number of that round, and the logs' signs.

    At least one sign of the newest round is left.
    """
    rounds = draw(st.sampled_from(histories()))
    rounds = rounds[: draw(st.integers(2, len(rounds)))]
    debug = draw(st.booleans())
    whole, before = written(rounds, debug=debug), written(rounds[:-1], debug=debug)
    begins = {member: len(before.get(member, "")) for member in whole}
    logs = {member: draw(_damaged(text, begins[member])) for member, text in whole.items()}
    signs = sum(text[begins[member] :].count(sign) for member, text in logs.items() for sign in SIGNS)
    return logs, rounds[-1].round.generation, signs


def _damaged(text: str, begins: int) -> st.SearchStrategy[str]:
    """A log as it is, cut at any place after a beginning, or with a piece gone after it."""
    places = st.integers(begins, len(text))
    pieces = st.tuples(places, places).map(sorted)
    return st.one_of(
        st.just(text), places.map(lambda at: text[:at]), pieces.map(lambda item: text[: item[0]] + text[item[1] :])
    )


def newest_of(logs: Mapping[str, str]) -> ConnectEntry:
    with tempfile.TemporaryDirectory() as folder:
        for place, text in enumerate(logs.values()):
            (Path(folder) / f"{place}.log").write_text(text, encoding="utf-8")
        return read_connect_logs([folder])[-1]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_a_round_that_is_not_whole_is_refused_or_told_of_the_one_before(
    case: tuple[Mapping[str, str], int, int],
) -> None:
    logs, number, signs = case
    assume(signs)
    try:
        newest = newest_of(logs)
        snapshot = snapshot_from_row(checked_row(newest), "x")
    except SnapshotError:
        return
    if newest.generation < number:
        assert NEWER_UNREAD in {note.code for note in newest.notes}
        assert NEWER_UNREAD in {note.code for note in snapshot.warnings}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_no_answer_is_yes_by_the_round_before(case: tuple[Mapping[str, str], int, int]) -> None:
    logs, number, signs = case
    assume(signs)
    try:
        newest = newest_of(logs)
        snapshot = snapshot_from_row(checked_row(newest), "x")
    except SnapshotError:
        return
    names = [instance.process_id for instance in snapshot.state.group.instances]
    if newest.generation < number and len(names) > 1:
        assert drain_workers(snapshot, names[:1]).answer is not Answer.YES
        policy = Policy({"max_rebalances": Limit(1_000)})
        assert check_plan(plan(snapshot), Standard(policy, NOW)).answer is not Answer.YES
