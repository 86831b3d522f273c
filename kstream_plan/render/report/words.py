"""What the words of a page mean: those that are on it."""

from __future__ import annotations

import re

from kstream_plan.render.report.page import Labelled

#: A word, where it is on a page, and what it means.
_WORDS = (
    ("instance", r"instances?", "one running process of the application: a pod, a host"),
    ("worker", r"workers?", "one process of Kafka Connect: it runs connectors and their tasks"),
    ("connector", r"connectors?", "moves data between Kafka and another system; its tasks do the work"),
    ("task", r"tasks?", "a part of the work, which one process runs at a time"),
    ("stateful", r"stateful", "with state: a local store, which has to be where the task runs"),
    ("subtopology", r"subtopolog\w+", "a step of the application, with one task for each partition of its input"),
    ("rebalance", r"rebalances?", "the group agrees again on who runs what"),
    ("generation", r"generations?", "the number of a rebalance"),
    ("member", r"members?", "a process that takes part in the group"),
    ("leader", r"leader", "the member that decides who runs what"),
    ("probe", r"prob(?:es?|ing)", "a rebalance that asks which copies have caught up, and lets their tasks cut over"),
    (
        "cut over, follow-up",
        r"follow-ups?|cut over",
        "a task changes its owner: the new one starts it in the follow-up rebalance, after the old one has stopped it",
    ),
    (
        "delay, deadline",
        r"deadline|delay",
        "how long Connect waits for a worker to come back; what it ran is unassigned until then",
    ),
    ("copy", r"cop(?:y|ies)", "a task's state on an instance that does not run the task"),
    ("standby", r"standbys?", "a copy that is always kept, so that its task can start there at once"),
    (
        "warm-up",
        r"warm-ups?|warms? up|warming up",
        "a copy catches up where its task is to run next; the task runs on elsewhere until then",
    ),
    ("lag", r"lags?", "how many records a copy is behind"),
    ("caught up", r"warm|caught up", "a task starts from a copy that is, but for a few records, up to date"),
    ("cold", r"cold", "a task starts from a copy that is behind, or from none: it is paused until it has restored"),
    ("restored", r"restor\w+", "read again from Kafka, until the state is up to date"),
    ("pause", r"paus\w+", "nothing processes the task, from where it stops to where it starts"),
    (
        "learner",
        r"learners?",
        "a copy that catches up where its task is to run, in KIP-441's draft, which no release has",
    ),
    ("Stable", r"stable", "every member was told what it runs; what starts cold there may be restoring still"),
    ("settled", r"settle[ds]?", "everything runs where it stays, and no further rebalance follows"),
    ("balance", r"balance", "how many tasks the members run, from the fewest to the most, before → after"),
    ("simulation", r"simulations?|simulated", "one way in which it may come, where chance decides"),
    (
        "outcome",
        r"moving|unreadable|stuck",
        "moving: it settles; stuck: it never does; unreadable: no plan could be made",
    ),
)
#: What nobody reads on a page: tags, and what the script draws from.
_MARKUP = re.compile(r"<script.*?</script>|<[^>]*>", re.DOTALL)
_PATTERNS = tuple((word, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), means) for word, pattern, means in _WORDS)


def words_on(html: str) -> tuple[Labelled, ...]:
    """Return which of the words that not everybody knows are on a page, and what they mean."""
    text = _MARKUP.sub(" ", html)
    return tuple(Labelled(word, means) for word, pattern, means in _PATTERNS if pattern.search(text))
