"""``--report``: pages and pictures beside what a command shows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.render.report.reports import plans_html
from tests.helpers import plan_cases
from tests.helpers.goldens import WRITE
from tests.helpers.pages import Page

EXAMPLES = Path(__file__).parents[2] / "examples"
PICTURE = Path(__file__).parents[2] / "kstream_plan" / "pages" / "report.svg"
SNAPSHOT = str(EXAMPLES / "scale-out" / "snapshot.json")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A saved plan."""
    file = tmp_path / "plan.json"
    file.write_text(plan_json(plan_cases.case("scale-out")) + "\n", encoding="utf-8")
    return file


@pytest.mark.spark
def test_a_plan_is_reported_as_it_is_saved(spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, picture, saved = (tmp_path / name for name in ("a.html", "a.svg", "a.json"))
    asked = ["assign", SNAPSHOT, "--report", f"html={page}", "--report", f"svg={picture}"]
    assert run([*asked, "--out", str(saved)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("╭─ orders: ")
    assert run(["assign", SNAPSHOT]) == 0
    assert capsys.readouterr().out == shown
    assert page.read_text(encoding="utf-8") == plans_html(read_saved(saved.read_bytes(), "here"))
    assert picture.read_text(encoding="utf-8").startswith("<svg ")


@pytest.mark.spark
def test_the_documents_show_the_picture_of_the_example(spark: object, tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    assert run(["assign", SNAPSHOT, "--report", f"svg={picture}"]) == 0
    if os.environ.get(WRITE) == "1":
        PICTURE.write_text(picture.read_text(encoding="utf-8"), encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == picture.read_text(encoding="utf-8")


@pytest.mark.spark
def test_a_simulation_is_reported(spark: object, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    asked = [
        "simulate-scaleout",
        str(EXAMPLES / "scale-out" / "before.json"),
        "--add",
        "1",
        "--set",
        "draws=3",
        "--set",
        "what.if=false",
    ]
    assert run([*asked, "--report", f"html={page}"]) == 0
    assert "a typical one of 3 simulations with random process ids" in Page(page.read_text(encoding="utf-8")).text


@pytest.mark.spark
def test_several_applications_have_one_page_and_no_picture(
    spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    assert run(["assign", str(EXAMPLES / "two-applications"), "--report", f"html={page}"]) == 0
    assert "kstream-plan: 2 applications" in Page(page.read_text(encoding="utf-8")).text
    capsys.readouterr()
    assert run(["assign", str(EXAMPLES / "two-applications"), "--report", f"svg={picture}"]) == 2
    assert "svg is the picture of one application" in capsys.readouterr().err
    assert not picture.exists()


def test_a_saved_plan_is_reported(plan: Path, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    assert run(["show", str(plan), "--report", f"html={page}"]) == 0
    assert page.read_text(encoding="utf-8") == plans_html(read_saved(plan.read_bytes(), "here"))


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (["check", "PLAN"], 0, "YES"),
        (["diff", "PLAN"], 0, "Tasks that changed"),
        (["compare", "PLAN", "PLAN"], 0, "All alternatives come to the same"),
        (["fleet", "PLAN"], 0, "1 application: 1 moving"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_saved_plans_are_reported_by_every_command(
    asked: list[str], code: int, said: str, plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "a.html"
    command = [str(plan) if one == "PLAN" else one for one in asked]
    assert run([*command, "--report", f"html={page}"]) == code, capsys.readouterr().err
    assert said in Page(page.read_text(encoding="utf-8")).text


@pytest.mark.spark
@pytest.mark.parametrize("group", ["scale-out/snapshot.json", "connect/workers.json"])
def test_a_drain_is_reported(group: str, spark: object, tmp_path: Path) -> None:
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    who = "i1" if "scale" in group else "10.0.0.1:8083"
    reports = ["--report", f"html={page}", "--report", f"svg={picture}"]
    assert run(["drain", str(EXAMPLES / group), who, "--set", "now=2026-11-22T12:00:00Z", *reports]) == 0
    answer = "NO: 8 of the 10 tasks of i1" if "scale" in group else "YES: 5 of 15 connectors and tasks"
    assert answer in Page(page.read_text(encoding="utf-8")).text
    assert answer in picture.read_text(encoding="utf-8")
    assert "paused at once" in picture.read_text(encoding="utf-8")


@pytest.mark.spark
def test_designs_beside_each_other_are_one_page(
    spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "a.html"
    asked = ["simulate", *(str(EXAMPLES / "connect" / name) for name in ("workers.json", "rolling-restart.yaml"))]
    asked += ["--design", "connect", "--design", "connect-eager", "--report"]
    assert run([*asked, f"html={page}"]) == 0
    assert "connect-eager" in Page(page.read_text(encoding="utf-8")).text
    assert run([*asked, f"svg={page}"]) == 2
    assert "svg is the picture of one design" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("html=-", "html cannot share standard output"),
        ("pdf=a.pdf", "'pdf' is not one of html, svg"),
        ("html", "'html' is not FORMAT=FILE"),
        ("html=gone/a.html", "its folder does not exist"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_work(
    report: str, said: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", str(plan), "--report", report]) != 0
    out, err = capsys.readouterr()
    assert (out, said in " ".join(err.split())) == ("", True)


def test_two_reports_cannot_go_to_one_file(plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.html"
    assert run(["show", str(plan), "--report", f"html={file}", "--report", f"svg={file}"]) == 2
    assert "two outputs go to one file" in capsys.readouterr().err
