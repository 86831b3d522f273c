"""``--set names=FILE``: hosts and racks of instances."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstream_plan.documents.instance_names import load_instance_names
from kstream_plan.errors import ConfigError


def load(tmp_path: Path, text: str) -> dict[str, dict[str, str]]:
    path = tmp_path / "names.yaml"
    path.write_text(text, encoding="utf-8")
    return load_instance_names(path)


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    expected = {"1d2": {"host": "orders-0"}, "orders-1": {"host": "h", "rack": "a"}, "7": {"rack": "010"}}
    assert load(tmp_path, "1d2: orders-0\norders-1: {host: h, rack: a}\n7:\n  rack: 010\n") == expected
    assert (
        load(tmp_path, '{"1d2": "orders-0", "orders-1": {"host": "h", "rack": "a"}, "7": {"rack": "010"}}') == expected
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not map"),
        ("- a\n", "line 1: does not map"),
        ("a: [b]\n", "line 1: does not map"),
        ("a: {zone: b}\n", "line 1: zone is not known"),
        ("a: {rack: [b]}\n", "a name is missing, or is no text"),
        ("a:\n", "a name is missing, or is no text"),
        ("a: b\na: c\n", "a is there twice"),
        ("a: {b\n", "neither YAML nor JSON"),
        ("a: \x00\n", "this is a binary file, not a file of names"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_instance_names(tmp_path / "none.yaml")
