"""A known setting that a file names is read, or a warning names it: none is dropped."""

from pathlib import Path

import pytest

from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.errors import ConfigError


def _file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("name", "text", "line", "lost"),
    [
        (
            "a.conf",
            '[program:a]\nenvironment=STREAMS_NUM_STANDBY_REPLICAS="1",STREAMS_MAX_WARMUP_REPLICAS="6"\n',
            2,
            "NUM_STANDBY_REPLICAS",
        ),
        (
            "compose.yml",
            "services:\n  a:\n    environment:\n      - STREAMS_MAX_WARMUP_REPLICAS=6\n"
            "      - STREAMS_NUM_STANDBY_REPLICAS: 1\n",
            5,
            "NUM_STANDBY_REPLICAS",
        ),
        (
            "values.yaml",
            "env:\n  STREAMS_MAX_WARMUP_REPLICAS: 6\nextraEnv: |\n"
            "  - name: STREAMS_NUM_STANDBY_REPLICAS\n    value: '1'\n",
            4,
            "NUM_STANDBY_REPLICAS",
        ),
        (
            "list.txt",
            "# Deployment a, container a\nSTREAMS_MAX_WARMUP_REPLICAS=6\n"
            "# STREAMS_NUM_STANDBY_REPLICAS from configmap a, key standbys\n",
            3,
            "NUM_STANDBY_REPLICAS",
        ),
    ],
)
def test_a_name_whose_value_is_not_read_is_told(tmp_path: Path, name: str, text: str, line: int, lost: str) -> None:
    file = load_streams_config(_file(tmp_path, name, text))
    assert file.overrides == {"max_warmup_replicas": 6}
    (warning,) = file.warnings
    assert f"line {line}: {lost} is named, and no value of it is read" in warning


def test_a_name_in_a_comment_is_no_setting(tmp_path: Path) -> None:
    text = "# num.standby.replicas=1\n! max.warmup.replicas\nacceptable.recovery.lag=5 # as max.warmup.replicas\n"
    text = text.replace("5 #", "5\n//")
    assert load_streams_config(_file(tmp_path, "a.properties", text)).warnings == ()


def test_a_batch_file_of_windows_is_read(tmp_path: Path) -> None:
    text = '@echo off\nSET "STREAMS_NUM_STANDBY_REPLICAS=1"\nset STREAMS_MAX_WARMUP_REPLICAS=6\n'
    file = load_streams_config(_file(tmp_path, "a.cmd", text))
    assert file.overrides == {"num_standby_replicas": 1, "max_warmup_replicas": 6}
    assert file.warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        (
            "a.conf",
            'include "common.conf"\nkafka-streams {\n  max.warmup.replicas = 6\n}\n',
            "line 1: settings are also from common.conf",
        ),
        (
            "b.conf",
            'streams {\n  include required(file("b.conf"))\n  max.warmup.replicas = 6\n}\n',
            "line 2: settings are also from b.conf",
        ),
        (
            "c.yml",
            "spring:\n  config.import: 'optional:file:kafka.yml'\n  kafka.streams.properties.max.warmup.replicas: 6\n",
            "line 2: settings are also from optional:file:kafka.yml",
        ),
        (
            "d.properties",
            "kafka-streams.max.warmup.replicas=6\nsmallrye.config.locations=more.properties\n",
            "line 2: settings are also from more.properties",
        ),
    ],
)
def test_files_that_a_file_takes_settings_from_are_told(tmp_path: Path, name: str, text: str, place: str) -> None:
    file = load_streams_config(_file(tmp_path, name, text))
    assert file.overrides == {"max_warmup_replicas": 6}
    (warning,) = file.warnings
    assert place in warning


@pytest.mark.parametrize("name", ["num-standby-replicas", "Num.Standby.Replicas"])
def test_a_name_that_kafka_does_not_read_is_told(tmp_path: Path, name: str) -> None:
    text = f"spring.kafka.streams.properties.{name}=1\nspring.kafka.streams.properties.max.warmup.replicas=6\n"
    file = load_streams_config(_file(tmp_path, "a.properties", text))
    assert file.overrides == {"num_standby_replicas": 1, "max_warmup_replicas": 6}
    (warning,) = file.warnings
    assert f"line 1: spring.kafka.streams.properties.{name} counts as num.standby.replicas" in warning


def _logged(second: int, values: str, of: str = "Streams") -> str:
    lines = "".join(f"\n\t{value}" for value in values.split(", "))
    return f"2026-11-21 13:00:{second:02} INFO {of}Config values: {lines}\n (org.apache.kafka.{of}Config)\n"


def test_values_that_were_logged_twice_and_differ_are_an_error(tmp_path: Path) -> None:
    same = _logged(1, "application.id = a, max.warmup.replicas = 6, num.standby.replicas = 1")
    other = _logged(2, "application.id = b, max.warmup.replicas = 6, num.standby.replicas = 0")
    consumers = _logged(3, "client.id = x, session.timeout.ms = 20000", "Consumer")
    consumers += _logged(4, "client.id = y, session.timeout.ms = 30000", "Consumer")
    file = load_streams_config(_file(tmp_path, "same.txt", same + same + consumers))
    assert file.overrides["num_standby_replicas"] == 1
    with pytest.raises(ConfigError, match=r"is '1' in the values of line 1 \(line 4\) and '0' in the values of line 6"):
        load_streams_config(_file(tmp_path, "other.txt", same + other))
