"""Files that belong to one application each, in commands that plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kstream_plan.cli.actions.fleet_run import each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.options.settings import Settings
from kstream_plan.errors import ConfigError, UsageError
from kstream_plan.model import Group, Note, Snapshot
from kstream_plan.model.settings import DEFAULT_SETTINGS, SETTINGS_GIVEN, SETTINGS_IN_FORCE
from tests.helpers import plan_cases


def application(name: str) -> Snapshot:
    snapshot = plan_cases.snapshot("scale-out")
    group = snapshot.state.group
    return replace(snapshot, state=replace(snapshot.state, group=Group.of(name, group.tasks, group.instances)))


def standbys(given: list[str], *names: str, **options: int) -> list[int]:
    settings = overrides(Settings(streams_config=given, **options))
    snapshots = [application(name) for name in names]
    work = each_application(snapshots, settings, lambda found: found.config.num_standby_replicas, keep_going=False)
    return work.results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, number in (("orders", 1), ("orders.eu", 2), ("all", 3)):
        (tmp_path / f"{name}.properties").write_text(f"num.standby.replicas={number}\n")
    return tmp_path


def test_each_application_has_its_own(folder: Path) -> None:
    given = [f"orders={folder}/orders.properties", f"orders.eu={folder}/orders.eu.properties"]
    assert standbys(given, "orders", "orders.eu", "other") == [1, 2, 0]
    assert standbys([*given, f"{folder}/all.properties"], "orders", "orders.eu", "other") == [1, 2, 3]
    assert standbys([str(folder)], "orders", "orders.eu", "other") == [1, 2, 0]
    assert standbys([f"orders.eu={folder}/all.properties", str(folder)], "orders", "orders.eu") == [1, 3]
    assert standbys([str(folder)], "orders", "orders.eu", num_standby_replicas=7) == [7, 7]


def test_settings_that_differ_from_those_read_are_an_assumption_with_their_names() -> None:
    snapshot = replace(application("orders"), assumptions=())
    [note] = overrides(Settings(num_standby_replicas=1, session_timeout=60_000)).apply(snapshot).assumptions
    assert (note.code, note.subjects) == (SETTINGS_GIVEN, ("num.standby.replicas=1", "session.timeout.ms=1m"))
    changes = ": num.standby.replicas=1 instead of 0, session.timeout.ms=1m instead of 45s"
    assert note.message.endswith(f"{changes}. {SETTINGS_IN_FORCE}")
    same = Settings(num_standby_replicas=snapshot.config.num_standby_replicas)
    assert overrides(same).apply(snapshot).assumptions == ()
    not_read = replace(snapshot, assumptions=(Note(DEFAULT_SETTINGS, "Kafka's defaults count"),))
    assert overrides(Settings(num_standby_replicas=1)).apply(not_read).assumptions == ()


def test_a_file_for_nobody_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert standbys([f"ordesr={folder}/orders.properties"], "orders") == [0]
    assert "warning: --streams-config ordesr=… is for an application that is not there" in capsys.readouterr().err


def test_nothing_is_silently_the_last(folder: Path) -> None:
    path = f"{folder}/orders.properties"
    with pytest.raises(UsageError, match=r"--streams-config: is given more than once\. Fix: one for each application"):
        standbys([path, path], "orders")
    with pytest.raises(UsageError, match="is given more than once for 'orders'"):
        standbys([f"orders={path}", f"orders={path}"], "orders")
    with pytest.raises(UsageError, match="is given more than once"):
        standbys([path, str(folder)], "orders")
    with pytest.raises(ConfigError, match="cannot read the file"):
        standbys([f"orders={folder}/none.properties"], "orders")


def test_a_file_may_have_an_equals_sign_in_its_name(folder: Path) -> None:
    path = folder / "a=b.properties"
    path.write_text("num.standby.replicas=5\n")
    assert standbys([str(path)], "orders") == [5]
