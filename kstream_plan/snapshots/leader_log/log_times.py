"""When a line of a log was logged, in whatever form the time stands there.

Read is every form that has one meaning: Java's layouts, syslog's and glog's (which have no year), those of web servers
and of East Asia, weeks and days of ISO 8601, seconds and milliseconds since 1970. Numbers whose order is not known
(``03/04/2026``, ``26/11/21``) are kept as they may be read, until all dates of the log are known: one that can be read
in one order only settles it for all.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError

#: The orders of day, month and year that ``--set log.dates`` takes.
DATE_ORDERS = ("dmy", "mdy", "ymd")

_SECOND, _DAY = 1_000_000, 86_400_000_000
_QUARTER_HOUR, _WIDEST_ZONE, _LONGEST_DELAY = 900 * _SECOND, 15 * 3600 * _SECOND, 120 * _SECOND
_EPOCH_DAY = date(1970, 1, 1).toordinal()
#: Kafka 2.6 is of August 2020: nothing that is read here was logged before.
EARLIEST_US = (date(2020, 8, 1).toordinal() - _EPOCH_DAY) * _DAY
_FOREVER_US = 4_102_444_800_000_000  # 2100

_MONTHS: Mapping[str, int] = {
    name: number
    for number, names in enumerate(
        ("jan", "feb", "mar mär mrz", "apr", "may mai", "jun", "jul", "aug", "sep", "oct okt", "nov", "dec dez"), 1
    )
    for name in names.split()
}
#: Names of zones that mean one thing, in hours.
_ZONES: Mapping[str, int] = {
    **dict.fromkeys(("Z", "UTC", "GMT", "WET"), 0),
    **dict.fromkeys(("CET", "WEST", "MEZ"), 1),
    **dict.fromkeys(("CEST", "EET", "MESZ"), 2),
    "EEST": 3,
    **{name: -hours for name, hours in (("EDT", 4), ("EST", 5), ("MDT", 6), ("MST", 7), ("PDT", 7), ("PST", 8))},
}
_MONTH = r"(?:Jan|Feb|Mar|Mär|Mrz|Apr|May|Mai|Jun|Jul|Aug|Sep|Oct|Okt|Nov|Dec|Dez)[a-zä]{0,7}\.?"
_ZONE = rf"(?:Z|[+-]\d\d:?\d\d|{'|'.join(sorted(_ZONES, key=len, reverse=True))})(?![\w:])"
_TIME = re.compile(
    rf"""(?<![\w./-])(?:
        (?P<y1>20\d\d)(?P<sep1>[-/.])(?P<m1>\d\d?)(?P=sep1)(?P<d1>\d\d?)
        | [IWEF]?(?P<y2>20\d\d)(?P<m2>\d\d)(?P<d2>\d\d)
        | (?P<d3>\d\d?)\.?[-/\ ](?P<m3>{_MONTH})[-/,\ ]{{1,2}}(?P<y3>20\d\d|\d\d)
        | (?P<m4>{_MONTH})\ {{1,2}}(?P<d4>\d\d?)(?:,?\ (?P<y4>20\d\d))?
        | (?P<y5>20\d\d)[年년]\ ?(?P<m5>\d\d?)[月월]\ ?(?P<d5>\d\d?)[日일]
        | [IWEF](?P<m7>\d\d)(?P<d7>\d\d)(?=\ )
        | (?P<of>20\d\d)(?:-?W(?P<week>\d\d)-?(?P<weekday>[1-7])|-(?P<yearday>[0-3]\d\d))
        | (?P<a>\d\d?)(?P<sep5>[-/.])(?P<b>\d\d?)(?P=sep5)(?P<c>20\d\d|\d\d)
    )
    (?:(?(a):|[T:_-])|,?\ {{1,2}}(?:@\ |at\ )?)
    (?P<hour>\d\d?)(?::|[時时]|시\ )?(?P<minute>\d\d)(?::|分|분\ )?(?P<second>\d\d)
    (?:[.,](?P<fraction>\d{{1,9}})|:(?P<millis>\d{{3}})(?!\d))?
    (?:\s?(?P<half>[AP])\.?M(?:\b|(?={_ZONE}))\.?)?
    (?:\ ?(?P<zone>{_ZONE}))?
    (?:\ (?P<y6>20\d\d)(?![\w:]|[-/.]\d))?""",
    re.VERBOSE | re.IGNORECASE,
)
_EPOCH_MS = re.compile(r"\W{0,3}(\d{13}|\d{16}|\d{19}|\d{10}[.,]\d{1,9})(?=[\s\]|,;]|\Z)")
_EPOCH = re.compile(r"\W{0,3}(\d{13}|\d{16}|\d{19}|1[6-9]\d{8}(?:[.,]\d{1,9})?)(?=[\s\]|,;]|\Z)")
_EPOCH_TEXT = re.compile(r"-?\d{9,19}(?:\.\d{1,9})?")
#: What stands between the time of whoever prints a log, a pipeline say, and the log's own.
_BETWEEN = re.compile(r"[\W_]*(?:\d\d[OE]\+? |[\w.-]{1,80} *\| |\[pod/[^\]]{1,200}\] )?[\W_]*")
_MARKS_BEFORE = 3
_ZONE_NUMBER = re.compile(r"([+-])(\d\d):?(\d\d)")


class Moment(NamedTuple):
    """A time, in microseconds since 1970, in UTC if it named no zone.

    ``readings`` are what it may be where the order of day, month and year is not known, by order. ``year_assumed``: it
    named none.
    """

    us: int
    zoned: bool
    readings: tuple[tuple[str, int], ...] = ()
    year_assumed: bool = False


def _is_printed_again(log_moment: Moment, print_moment: Moment) -> bool:
    """Tell whether a log was printed long after it was logged, by its own time and the time of the print."""
    is_plain = not (log_moment.zoned or log_moment.readings or log_moment.year_assumed)
    return is_plain and print_moment.us - log_moment.us > _WIDEST_ZONE + _LONGEST_DELAY


class LogTimes:
    """Reads the times of one log.

    Args:
        order: the order of day, month and year, if it is given.
        until_us: when the log was written last, in microseconds since 1970: nothing in it is later.
        with_seconds: a whole number before a message may be seconds since 1970; else it counts from another begin.
    """

    def __init__(self, order: str | None = None, until_us: int | None = None, *, with_seconds: bool = True) -> None:
        self._order = order
        self._epoch = _EPOCH if with_seconds else _EPOCH_MS
        self._until_us = (time.time_ns() // 1000 if until_us is None else until_us) + _DAY
        self._earliest_us = EARLIEST_US - _DAY
        self._readings: dict[tuple[tuple[str, int], ...], str] = {}

    @classmethod
    def of_file(cls, stream: BinaryIO, order: str | None, *, with_seconds: bool = True) -> LogTimes:
        """Return what reads the times of a log that is open: a file says when it was written last."""
        try:
            status = os.fstat(stream.fileno())
        except (OSError, AttributeError):
            return cls(order, with_seconds=with_seconds)
        until_us = status.st_mtime_ns // 1000 if stat.S_ISREG(status.st_mode) else None
        return cls(order, until_us, with_seconds=with_seconds)

    def in_header(self, header: str) -> Moment | None:
        """Return the time in what stands before a message: the last one with a zone, else the last one.

        Where that is followed by a much earlier one, an old log was printed again, and the earlier one counts.
        """
        best, end = None, 0
        for match in _TIME.finditer(header):
            moment = self._moment(match)
            if moment is None:
                continue
            if best is None or moment.zoned or not best.zoned:
                best, end = moment, match.end()
            elif _BETWEEN.fullmatch(header, end, match.start()) and _is_printed_again(moment, best):
                return moment
        epoch = self._epoch.match(header) if best is None else None
        return best if epoch is None else of_number(float(epoch[1].replace(",", ".")))

    def logged_at(self, header: str, shipper_moment: Moment | None) -> Moment | None:
        """Return when a message was logged.

        Its own header counts. If only ``shipper_moment``, a shipper's time, names a zone, that of the header follows
        from it: the shipper came by moments later. A header that begins with a much earlier time is of a log that was
        printed again.
        """
        header_moment = self.in_header(header)
        if header_moment is None or shipper_moment is None or header_moment.zoned or not shipper_moment.zoned:
            return shipper_moment if header_moment is None else header_moment
        first = _TIME.search(header)
        if first is not None and first.start() <= _MARKS_BEFORE and _is_printed_again(header_moment, shipper_moment):
            return header_moment
        zone_us = round((header_moment.us - shipper_moment.us) / _QUARTER_HOUR) * _QUARTER_HOUR
        delay_us = abs(shipper_moment.us - (header_moment.us - zone_us))
        if header_moment.readings or abs(zone_us) > _WIDEST_ZONE or delay_us > _LONGEST_DELAY:
            return shipper_moment
        return Moment(header_moment.us - zone_us, zoned=True)

    def in_text(self, text: str) -> Moment | None:
        """Return the first time in a text."""
        match = _TIME.search(text)
        return self._moment(match) if match else None

    def in_value(self, value: Any) -> Moment | None:
        """Return the time that a field of a log store's has: a number since 1970, or a text."""
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return of_number(value)
        if not isinstance(value, str):
            return None
        return of_number(float(value)) if _EPOCH_TEXT.fullmatch(value.strip()) else self.in_text(value)

    def not_before(self, us: int) -> None:
        """Note that the log was written later than this: its wording came with a release of Kafka."""
        self._earliest_us = max(self._earliest_us, us - _DAY)

    def see(self, text: str) -> None:
        """Look at the dates in a text: one of them may tell how the others are to be read."""
        for match in _TIME.finditer(text) if self._readings else ():
            self._moment(match)

    def settle(self, moments: Iterable[Moment | None]) -> list[Moment | None]:
        """Return times as the log's dates together tell them.

        A damaged date among others that have one meaning is none.

        Raises:
            AmbiguousDatesError: they do not tell it.
        """
        moments = list(moments)
        try:
            return [self._read_in_order(moment) for moment in moments]
        except AmbiguousDatesError:
            if all(moment is None or moment.readings for moment in moments):
                raise
        return [None if moment is None or moment.readings else moment for moment in moments]

    def _read_in_order(self, moment: Moment | None) -> Moment | None:
        if moment is None or not moment.readings:
            return moment
        by_order, order = dict(moment.readings), self._settled_order()
        if order not in by_order:
            raise AmbiguousDatesError(self._readings[_days(moment.readings)], list(by_order))
        return Moment(by_order[order], moment.zoned)

    def _settled_order(self) -> str:
        if self._order is None:
            possible = self._possible(self._until_us) or self._possible(_FOREVER_US)
            if (
                not possible
                or len({tuple(dict(readings)[order] for readings in self._readings) for order in possible}) > 1
            ):
                raise AmbiguousDatesError(next(iter(self._readings.values())), possible)
            self._order = possible[0]
        return self._order

    def _possible(self, until_us: int) -> list[str]:
        """Return the orders in which all dates can be read and none is too early or too late."""
        return [
            order
            for order in DATE_ORDERS
            if all(self._earliest_us <= dict(readings).get(order, -1) <= until_us for readings in self._readings)
        ]

    def _moment(self, match: re.Match[str]) -> Moment | None:
        try:
            us = _clock_us(match) - _zone_us(match["zone"])
        except ValueError:
            return None
        zoned = match["zone"] is not None
        if match["a"]:
            return self._numbers(match, us, zoned)
        if match["of"]:
            day_us = _day_of_year_us(int(match["of"]), match["week"], match["weekday"], match["yearday"])
            return None if day_us is None else Moment(day_us + us, zoned)
        number = next(number for number in "123457" if match[f"m{number}"])
        month = match[f"m{number}"]
        month_number = int(month) if month.isdigit() else _MONTHS[month[:3].lower()]
        year = match[f"y{number}"] if number in "1235" else match["y4"] or match["y6"]
        if year is None:
            return self._without_year(month_number, int(match[f"d{number}"]), us, zoned)
        day_us = _day_us(int(year) % 100 + 2000, month_number, int(match[f"d{number}"]))
        return None if day_us is None else Moment(day_us + us, zoned)

    def _without_year(self, month: int, day: int, us: int, zoned: bool) -> Moment | None:
        """Take the newest year in which the time is not later than the end of the log."""
        newest = date.fromordinal(_EPOCH_DAY + self._until_us // _DAY).year
        for year in range(newest, newest - 8, -1):
            day_us = _day_us(year, month, day)
            if day_us is not None and day_us + us <= self._until_us:
                return Moment(day_us + us, zoned, year_assumed=True)
        return None

    def _numbers(self, match: re.Match[str], us: int, zoned: bool) -> Moment | None:
        """Read three numbers in each order that makes a date; with dots the day is always the first."""
        first, second, third = int(match["a"]), int(match["b"]), int(match["c"])
        orders: dict[str, Callable[[], int | None]] = {
            "dmy": lambda: _day_us(third % 100 + 2000, second, first),
            "mdy": lambda: _day_us(third % 100 + 2000, first, second),
        }
        if third < 100:
            orders["ymd"] = lambda: _day_us(first + 2000, second, third)
        days = {order: day_us for order, read in orders.items() if (day_us := read()) is not None}
        if match["sep5"] == "." and "dmy" in days:
            return Moment(days["dmy"] + us, zoned)
        if not days:
            return None
        self._readings.setdefault(tuple(days.items()), match[0])
        readings = tuple((order, day_us + us) for order, day_us in days.items())
        return Moment(readings[0][1], zoned, readings)


def _days(readings: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """Return the days of readings, without the time of day, which is the same in all."""
    clock_us = readings[0][1] % _DAY
    return tuple((order, us - clock_us) for order, us in readings)


class AmbiguousDatesError(ValueError):
    """Dates can be read in more than one way, or in none that fits."""

    def __init__(self, example: str, possible: list[str]) -> None:
        names = {"dmy": "day first", "mdy": "month first", "ymd": "year first"}
        ways = " or ".join(names[order] for order in possible)
        self.orders = possible or list(DATE_ORDERS[:2])
        problem = f"{example} is {ways}" if ways else f"{example} fits no order of day, month and year"
        super().__init__(f"the order of day, month and year in its dates is not known: {problem}")

    def as_snapshot_error(self, place: str) -> SnapshotError:
        """Return the error as the command tells it."""
        options = " or ".join(f"--set log.dates={order}" for order in self.orders)
        return SnapshotError(str(self), where=place, fix=f"say which: {options}")


def of_number(value: float) -> Moment | None:
    """Read a number of seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by its size."""
    for limit, factor in ((1e11, 1e6), (1e14, 1e3), (1e17, 1), (1e20, 1e-3)):
        if 0 <= value < limit:
            return Moment(round(value * factor), zoned=True)
    return None


def _clock_us(match: re.Match[str]) -> int:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    half = (match["half"] or "").upper()
    if half:
        hour = hour % 12 + (12 if half == "P" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError
    fraction = ((match["fraction"] or match["millis"] or "") + "000000")[:6]
    return ((hour * 60 + minute) * 60 + second) * _SECOND + int(fraction)


def _zone_us(zone: str | None) -> int:
    if zone is None:
        return 0
    if match := _ZONE_NUMBER.fullmatch(zone):
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes >= 24 * 60:
            raise ValueError
        return (-minutes if match[1] == "-" else minutes) * 60 * _SECOND
    return _ZONES[zone.upper()] * 3600 * _SECOND


def _day_us(year: int, month: int, day: int) -> int | None:
    try:
        return (date(year, month, day).toordinal() - _EPOCH_DAY) * _DAY
    except ValueError:
        return None


def _day_of_year_us(year: int, week: str | None, weekday: str | None, yearday: str | None) -> int | None:
    """Return the day by the week of ISO 8601 and its day, else by the number of the day in its year."""
    try:
        if yearday is None:
            return (date.fromisocalendar(year, int(week or 0), int(weekday or 0)).toordinal() - _EPOCH_DAY) * _DAY
        day = date.fromordinal(date(year, 1, 1).toordinal() + int(yearday) - 1)
    except ValueError:
        return None
    return _day_us(year, day.month, day.day) if day.year == year else None
