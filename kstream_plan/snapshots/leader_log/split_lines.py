"""Physical lines → the lines that were logged: parts of which a shipper says that it split them are joined again.

Where a shipper splits does not matter: it may be inside the words that tell a message, or inside a character. So no
part is judged by what it holds, only the whole line is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kstream_plan.snapshots.leader_log.envelope import CutLineError, Envelope, unwrap
from kstream_plan.snapshots.leader_log.lines import LONGEST_LINE_BYTES, LogLine, Sign
from kstream_plan.snapshots.leader_log.log_times import LogTimes

#: What stands behind the text in a line of Docker's own log, and in hardly any other.
_DOCKER_END = rb'(?:out|err)", ?"(?:attrs"|time": ?"[^"\n]*"\})'
_DOCKER_GOES_ON = (
    rb'(?:(?<=","stream":"std)(?<![^\\]\\n","stream":"std)|(?<=", "stream": "std)(?<![^\\]\\n", "stream": "std))'
)
#: A part that is not the last: CRI's ``P``, or a line of Docker's whose text does not end in ``\n``. One pattern that
#: begins with letters is searched for much faster than others.
PART_SIGN = Sign(
    re.compile(b"std(?:(?<= std)(?:out|err) P[ :]|" + _DOCKER_GOES_ON + _DOCKER_END + b")"),
    kind=re.compile(rb' std(?:out|err) [FP][ :]|"stream": ?"std' + _DOCKER_END),
)

#: So many lines of others may stand between two parts of a line.
MAX_GAP = 2000
#: A line without the words of a message is given up once its parts are longer than this.
_LONG_LINE = 4 << 20
#: So much of its end is kept then, in case that such words begin there.
_KEPT = 128


class WholeLine(NamedTuple):
    """A line, the number of its first part, and the line before it: as it is, or joined if it was split."""

    envelope: Envelope
    number: int
    previous_line: bytes | Envelope


@dataclass(slots=True)
class _PartialLine:
    """A line whose last part is still to come; ``last`` is the number of the last line so far."""

    first: WholeLine
    last: int
    is_marked: Callable[[str], bool]
    text: io.StringIO = field(default_factory=io.StringIO)
    matters: bool = False

    def add(self, part: Envelope, number: int) -> None:
        """Add a part.

        Raises:
            CutLineError: the line matters, and is longer than a line may be.
        """
        self.text.write(part.text)
        if self.matters and self.text.tell() > LONGEST_LINE_BYTES:
            raise CutLineError(f"its line is longer than {LONGEST_LINE_BYTES >> 20} MiB")
        self.last = number
        if not self.matters and self.text.tell() > _LONG_LINE:
            text = self.text.getvalue()
            self.matters = self.is_marked(text)
            if not self.matters:
                self.text = io.StringIO()
                self.text.write(text[-_KEPT:])

    def whole(self) -> WholeLine:
        envelope = self.first.envelope._replace(text=self.text.getvalue(), goes_on=False)
        return self.first._replace(envelope=envelope)


class SplitLines:
    """The lines that are not whole yet, at most one in each stream.

    Args:
        is_marked: whether a text has the words of a message that matters.
        times: what reads the log's times.
    """

    def __init__(self, is_marked: Callable[[str], bool], times: LogTimes) -> None:
        self._is_marked = is_marked
        self._times = times
        self._partial_lines: dict[str, _PartialLine] = {}
        self._last_joined: tuple[Envelope, int] | None = None  # the line that was joined last, and where it ended

    def __bool__(self) -> bool:
        return bool(self._partial_lines)

    def add(self, line: LogLine, previous_line: bytes) -> Iterator[WholeLine]:
        """Yield the lines that are whole now: what the line is or completes, and what is not to be completed any more.

        Args:
            line: the next line, or one farther on if no line is begun.
            previous_line: the line before it.

        Raises:
            CutLineError: a line that matters is too long.
        """
        if self._partial_lines:
            yield from self._given_up(line.number)
        part = unwrap(line.text, self._times)
        partial_line = self._partial_lines.get(part.stream)
        if partial_line is None:
            first = WholeLine(part, line.number, self._joined_at(line.number - 1) or previous_line)
            if not part.goes_on:
                yield first
                return
            partial_line = self._partial_lines[part.stream] = _PartialLine(first, line.number, self._is_marked)
        try:
            partial_line.add(part, line.number)
        except CutLineError:
            del self._partial_lines[part.stream]
            raise
        if not part.goes_on:
            del self._partial_lines[part.stream]
            whole = partial_line.whole()
            self._last_joined = whole.envelope, line.number
            yield whole

    def rest(self) -> Iterator[WholeLine]:
        """Yield the lines that the log breaks off in, as far as they go."""
        for partial_line in self._partial_lines.values():
            yield partial_line.whole()

    def _joined_at(self, number: int) -> Envelope | None:
        return self._last_joined[0] if self._last_joined and self._last_joined[1] == number else None

    def _given_up(self, number: int) -> Iterator[WholeLine]:
        for stream in [
            stream for stream, partial_line in self._partial_lines.items() if number - partial_line.last > MAX_GAP
        ]:
            yield self._partial_lines.pop(stream).whole()
