"""Requests that kafka-python does not know, as it declares its own: a message's schema is the JSON file of its name.

Answers are left as bytes, which the caller reads: kafka-python does not check lengths against the bytes of an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kafka.protocol.api_message import ApiMessage


class Answer(NamedTuple):
    """The body of an answer, and the version of its format."""

    version: int
    body: bytes


class StreamsGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """Asks for streams groups (KIP-1071, api key 89)."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """The answer, which is kept as an :class:`Answer`."""

    @classmethod
    def decode(cls, data: Any, **_: object) -> Answer:
        """Keep what is left of an answer after its header."""
        return Answer(cls._class_version, data.read())
