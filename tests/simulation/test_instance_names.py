"""An instance is called what people call it, and nobody is mistaken for another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import ScenarioError
from kstream_plan.model import Group, is_uuid
from kstream_plan.simulation.instance_names import process_id_of
from tests.helpers import captured_scenarios

GROUP = captured_scenarios.before("scale-out").state.group
I3 = next(instance.process_id for instance in GROUP.instances if instance.host == "i3")


def _with_hosts(*hosts: str | None) -> Group:
    instances = [replace(item, host=host) for item, host in zip(GROUP.instances, hosts, strict=True)]
    return Group.of(GROUP.application_id, list(GROUP.tasks), instances)


@given(length=st.integers(1, 36), upper=st.booleans(), index=st.integers(0, 2))
def test_any_beginning_of_an_id_names_it_or_says_which_are_meant(length: int, upper: bool, index: int) -> None:
    process_id = GROUP.instances[index].process_id
    assert is_uuid(process_id)
    name = process_id[:length].upper() if upper else process_id[:length]
    same = [instance.process_id for instance in GROUP.instances if instance.process_id.startswith(process_id[:length])]
    if len(same) == 1:
        assert process_id_of(GROUP, name) == process_id
    else:
        with pytest.raises(ScenarioError) as raised:
            process_id_of(GROUP, name)
        assert all(item in raised.value.fix for item in same)


@pytest.mark.parametrize("name", ["i3", I3, I3.upper(), I3[:3], I3[:1], f"i3/{I3[:4]}"])
def test_ids_beginnings_hosts_and_both(name: str) -> None:
    assert process_id_of(GROUP, name) == I3


def test_a_host_without_its_domain() -> None:
    group = _with_hosts("a-0.svc", "a-1.svc", "a-2.svc")
    assert process_id_of(group, "a-1") == process_id_of(group, "a-1.svc") == group.instances[1].process_id


def test_of_several_their_ids_are_told() -> None:
    group = _with_hosts("i2", "i3", "i3")
    with pytest.raises(ScenarioError, match="2 instances have the name 'i3'") as raised:
        process_id_of(group, "i3", "--remove")
    ids = [instance.process_id for instance in group.instances]
    assert raised.value.fix == f"name one by its process id: {ids[1]}, {ids[2]}"
    assert [process_id_of(group, process_id) for process_id in ids] == ids


@pytest.mark.parametrize("name", ["", "/", "i3/", "i3/zz", "i", "I3", "zz"])
def test_nobody_is_nobody(name: str) -> None:
    with pytest.raises(ScenarioError, match="there is no instance") as raised:
        process_id_of(GROUP, name)
    assert raised.value.fix.endswith("i1, i2, i3")


def test_ids_that_are_no_uuids_have_case() -> None:
    instances = [replace(item, process_id=name) for item, name in zip(GROUP.instances, ("a", "A", "b"), strict=True)]
    group = Group.of(GROUP.application_id, list(GROUP.tasks), instances)
    assert [process_id_of(group, name) for name in ("a", "A", "b")] == ["a", "A", "b"]
