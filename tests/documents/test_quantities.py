"""Durations and rates as people type them."""

import pytest

from kstream_plan.documents.quantities import parse_duration, parse_rate


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("90s", 90_000),
        ("10m", 600_000),
        ("1.5h", 5_400_000),
        ("250ms", 250),
        ("60000", 60_000),
        ("1m30s", 90_000),
        ("2d", 172_800_000),
        (" 0 ", 0),
        ("0.0005s", None),
        ("1.5", None),
        ("-1s", None),
        ("", None),
        ("10 m", None),
        ("10x", None),
        ("99999999999999999d", None),
        ("٣s", None),
    ],
)
def test_durations(text: str, milliseconds: int | None) -> None:
    if milliseconds is None:
        with pytest.raises(ValueError, match="is not a"):
            parse_duration(text)
    else:
        assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "per_second"),
    [("5000/s", 5000.0), ("300000/m", 5000.0), ("36/h", 0.01), ("12.5", 12.5), ("0", 0.0), ("5/d", None), ("x", None)],
)
def test_rates(text: str, per_second: float | None) -> None:
    if per_second is None:
        with pytest.raises(ValueError, match="is not a rate"):
            parse_rate(text)
    else:
        assert parse_rate(text) == per_second
