"""Links among the inputs: followed once, whatever they lead to; devices are no files."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.sources import check_paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    result = tmp_path / "d"
    (result / "inner").mkdir(parents=True)
    (result / "inner" / "x.json").write_text("{}")
    return result


def names(*paths: str | Path) -> list[str]:
    return [Path(file.path).name for file in check_paths([str(path) for path in paths]).local]


def test_a_link_that_leads_nowhere_is_passed_over_with_a_warning(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "gone.json").symlink_to("nowhere")
    with caplog.at_level(logging.WARNING, "kstream_plan"):
        assert names(folder) == names(folder / "**") == names(folder / "*") == ["x.json"]
    assert caplog.messages == [f"{folder}/gone.json is a link that leads nowhere: it is passed over"] * 3


def test_a_link_that_leads_nowhere_is_an_error_where_it_was_named(folder: Path) -> None:
    (folder / "gone.json").symlink_to("nowhere")
    with pytest.raises(SnapshotError, match="is a link that leads nowhere"):
        check_paths([str(folder / "gone.json")])


def test_a_folder_that_cannot_be_read_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in it would be missing without a word; who runs the tests may be allowed to read everything."""
    scandir = os.scandir

    def refuses(path: str) -> object:
        if Path(path).name == "inner":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuses)
    for path in (folder, folder / "inner", folder / "**"):
        with pytest.raises(SnapshotError, match="/inner: cannot be read: Permission denied"):
            check_paths([str(path)])


@pytest.mark.parametrize("links", [1, 3])
def test_links_that_lead_back_are_followed_once(folder: Path, links: int) -> None:
    for number in range(links):
        (folder / f"a{number}").symlink_to(".")
        (folder / "inner" / f"up{number}").symlink_to("..")
    assert names(folder) == ["x.json"]
    assert (
        names(folder / "**") == names(folder / "**" / "*.json") == names(folder / "**" / "inner" / "x*") == ["x.json"]
    )


def test_a_link_to_itself_is_one_that_leads_nowhere(folder: Path) -> None:
    (folder / "self.json").symlink_to("self.json")
    assert names(folder) == ["x.json"]


def test_a_folder_behind_a_link_is_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert names(tmp_path / "link") == names(tmp_path / "**" / "x.json") == ["x.json"]


def test_two_stars_match_any_number_of_folders(folder: Path) -> None:
    (folder / "y.json").write_text("{}")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "z.json").write_text("{}")
    assert names(folder / "**" / "*.json") == ["x.json", "y.json"]
    assert names(folder / "**" / "inner" / "**" / "*.json") == ["x.json"]
    with pytest.raises(SnapshotError, match="matches no file"):
        check_paths([str(folder / "**" / "*.parquet")])


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
def test_devices_are_refused(device: str) -> None:
    with pytest.raises(SnapshotError, match="is a device, not a file"):
        check_paths([device])
