"""The three answers to a yes-or-no question."""

from __future__ import annotations

from enum import StrEnum


class Answer(StrEnum):
    """YES is proven, NO is proven or likely, UNKNOWN is everything else."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    @property
    def word(self) -> str:
        """The first word of an answer that a person reads."""
        return self.value.upper()


def worst_of(answers: list[Answer]) -> Answer:
    """Return NO if any answer is NO, else UNKNOWN if any is, else YES."""
    if Answer.NO in answers:
        return Answer.NO
    return Answer.UNKNOWN if Answer.UNKNOWN in answers else Answer.YES
