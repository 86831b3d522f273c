"""What a real group did after an event comes out of what its leader's log told before it."""

from __future__ import annotations

import pytest

from tests.helpers.recorded_events import BY_NAME, outcome, planned

#: So many generations have to come out, by instance.
AT_LEAST = {"bounce": 1, "drain": 2, "big4": 15, "bigcrash": 1, "bigremove": 1, "twocrash": 10}


@pytest.mark.parametrize("name", sorted(AT_LEAST))
def test_what_followed_was_planned_before(name: str) -> None:
    event = BY_NAME[name]
    found = outcome(event, planned(event))
    assert sum(found.alike) >= AT_LEAST[name], str(found)
