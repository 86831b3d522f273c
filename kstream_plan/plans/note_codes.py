"""Which of a plan's notes warn, and which are only good to know."""

from __future__ import annotations

from collections.abc import Iterable

from kstream_plan.model import Note

#: Codes of what is good to know, or merely costs; everything else that is not assumed is a warning.
NOTE_CODES = frozenset(
    {
        "copies-uneven",
        "no-effect-in-streams-group",
        "settings-differ",
        "target-not-proven",
        "threads-race",
        "unknown-config-key",
        "unused-names",
    }
)
#: Codes of what only experts want to read: ``--verbose`` shows it, and the JSON has it.
EXPERT_CODES = frozenset({"threads-race", "thread-moves"})
#: Codes of notes that follow from the rounds: made when a plan is read, and no part of the plan itself.
COLD_STARTS, STATELESS_MOVES, THREAD_MOVES = "cold-starts", "stateless-moves", "thread-moves"
KEPT_WORK, LEADER_LEFT, CONNECTOR_UNEVEN = "work-kept", "leader-left", "connector-uneven"
MOVES_AGAIN, TARGET_REFUSED = "moves-again", "target-refused"
FROM_ROUNDS = frozenset(
    {COLD_STARTS, STATELESS_MOVES, THREAD_MOVES, KEPT_WORK, LEADER_LEFT, CONNECTOR_UNEVEN, MOVES_AGAIN, TARGET_REFUSED}
)
#: The code of a design's warning that the outcome depends on when left-over state is deleted: the planner then
#: simulates the other outcomes, and leaves the warning out if they are the same.
LEFT_OVER_CLEANUP = "left-over-cleanup"
#: The same of whether a follow-up comes before something else, or after it.
LATE_FOLLOW_UP = "late-follow-up"
#: The group may not settle if stores are in memory, which is unknown.
MEMORY_UNSETTLED = "memory-unsettled"
#: Members return before the broker has fenced those that crashed.
BACK_BEFORE_FENCED = "back-before-fenced"
#: A return is so close to the session time-out that either may come first.
CLOSE_TO_TIME_OUT = "close-to-time-out"


def warnings_first(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return notes with those that warn before the others."""
    return tuple(sorted(notes, key=lambda note: note.code in NOTE_CODES))
