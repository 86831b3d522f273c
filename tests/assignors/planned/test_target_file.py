"""A target file is written as it is read, and whatever else it holds is refused with a code, never an error."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors.planned.target_file import (
    MAX_BYTES,
    Slot,
    TargetFile,
    TargetRefused,
    parse_target,
    target_text,
)
from kstream_plan.model.target_refusals import REFUSALS

FILE = TargetFile(
    plan="0123456789ab",
    application="orders",
    expires_ms=1_795_000_000_000,
    waits_for_more=False,
    warmups=2,
    probe_ms=15_000,
    order=("0_1",),
    slots=(
        Slot(name="s1", match="tag:pod=a=b", active=("0_0", "1_0"), standby=("0_1",)),
        Slot(name="s2", match="new", active=("0_1",), standby=()),
    ),
)
TEXT = target_text(FILE)
_TASKS = st.lists(st.from_regex(r"(0|[1-9][0-9]{0,8})_(0|[1-9][0-9]{0,8})", fullmatch=True), max_size=4)
_SLOTS = st.lists(
    st.tuples(st.sampled_from(["new", "host:a:1", "static:x", "tag:zone=", "process:p"]), _TASKS, _TASKS),
    min_size=1,
    max_size=4,
)


def code_of(text):
    with pytest.raises(TargetRefused) as refused:
        parse_target(text if isinstance(text, bytes) else text.encode())
    assert refused.value.code in REFUSALS
    return refused.value.code


@given(_SLOTS, _TASKS, st.integers(1, 10_000), st.integers(5_000, 86_400_000), st.booleans())
def test_what_is_written_is_read(slots, order, warmups, probe_ms, waits):
    file = TargetFile(
        plan="0" * 12,
        application="orders",
        expires_ms=1_795_000_000_000,
        waits_for_more=waits,
        warmups=warmups,
        probe_ms=probe_ms,
        order=tuple(order),
        slots=tuple(
            Slot(name=f"s{number}", match=match, active=tuple(active), standby=tuple(standby))
            for number, (match, active, standby) in enumerate(slots)
        ),
    )
    assert parse_target(target_text(file).encode()) == file


@given(st.binary(max_size=400))
def test_any_bytes_are_refused_with_a_code(content):
    code_of(content)


@given(st.integers(0, len(TEXT)), st.integers(0, 5), st.binary(max_size=5))
def test_a_file_that_was_tampered_with_is_read_or_refused(at, cut, put):
    content = TEXT.encode()
    with suppress(TargetRefused):
        parse_target(content[:at] + put + content[at + cut :])


@given(st.integers(0, len(TEXT) - 2))
def test_a_file_that_was_cut_off_never_counts(length):
    assert code_of(TEXT[:length]) in ("syntax", "truncated")


def test_blanks_comments_and_other_line_ends_do_not_matter():
    lines = [f"\t {line} \r\n" for line in TEXT.splitlines()]
    assert parse_target(("# a comment\n\n" + "".join(lines)).encode()) == FILE


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("format=1", "format=2", "format"),
        ("warmups=2", "warmups=02", "bad-value"),
        ("warmups=2", "warmups=10001", "bad-value"),
        ("probe.ms=15000", "probe.ms=4999", "bad-value"),
        ("expires=2026-11-18", "expires=2026-02-30", "bad-value"),
        ("plan=0123456789ab", "plan=0123456789aB", "bad-value"),
        ("slots=s1,s2", "slots=s1,s1", "unknown-key"),
        ("order=0_1", "order=0_01", "bad-value"),
        ("extra=balance", "extra=", "bad-value"),
        ("s2.match=new", "s2.match=newer", "bad-value"),
        ("s2.match=new", "s2.match=host:a", "bad-value"),
        ("slot.s2.standby=", "slot.s2.spare=", "missing-key"),
        ("order=0_1", "order 0_1", "syntax"),
        ("order=0_1", "warmups=2", "duplicate-key"),
        ("end=15", "end=14", "truncated"),
    ],
)
def test_codes(old, new, code):
    assert len(re.findall(old, TEXT)) == 1
    assert code_of(TEXT.replace(old, new)) == code


def test_size_and_encoding():
    full = TEXT.encode()
    assert parse_target(full + b"\n" * (MAX_BYTES - len(full))) == FILE
    assert code_of(full + b"\n" * (MAX_BYTES + 1 - len(full))) == "too-large"
    assert code_of(full.replace(b"orders", b"\xff")) == "not-utf-8"
    assert code_of(b"\xef\xbb\xbf" + full) == "syntax"
