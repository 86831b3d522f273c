"""What the documents say is what the tool does: their commands are run and their outputs compared."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import textwrap
import tomllib
from pathlib import Path
from string import Template

import click
import pytest
from rich.console import Console
from typer.main import get_command

from kstream_plan.cli import run
from kstream_plan.cli.application import application
from kstream_plan.cli.command_help import COMMANDS
from kstream_plan.cli.commands.help import answer_text
from kstream_plan.cli.terminal_markdown import TerminalMarkdown
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.plans import Step
from kstream_plan.version import __version__
from tests.helpers.goldens import WRITE
from tests.helpers.pictures import picture, words

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = {file.stem: file for file in sorted((ROOT / "kstream_plan" / "pages").glob("*.md"))}
PICTURE = ROOT / "kstream_plan" / "pages" / "simulate-scaleout.svg"
DOCUMENTS = [README, *PAGES.values()]
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
#: A command after a prompt, and the lines on which it goes on.
_TYPED = re.compile(r"^\$ kstream-plan ((?:.*\\\n)*.*)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def commands() -> dict[str, click.Command]:
    return get_command(application()).commands  # type: ignore[attr-defined, no-any-return]


def _text(document: Path) -> str:
    return document.read_text(encoding="utf-8")


@pytest.mark.spark
@pytest.mark.parametrize(
    "document", [one for one in DOCUMENTS if _CONSOLE.search(_text(one))], ids=lambda one: one.stem
)
def test_a_document_shows_what_its_commands_print(
    document: Path,
    spark: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("kstream_plan.cli.progress._A_WHILE_S", float("inf"))  # a busy machine is no news
    text = _text(document)
    for session in _CONSOLE.findall(text):
        shown = "".join(_run(command, capsys) for command in _TYPED.findall(session))
        if os.environ.get(WRITE) == "1":
            text = text.replace(session, shown)
        else:
            assert shown == session
    if os.environ.get(WRITE) == "1":
        document.write_text(text, encoding="utf-8")


def _run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the command and what it prints; with ``> FILE`` its output is in the file."""
    arguments, _, target = command.replace("\\\n", " ").partition(" > ")
    run(shlex.split(arguments))
    captured = capsys.readouterr()
    if target:
        Path(target).write_text(captured.out, encoding="utf-8")
    return f"$ kstream-plan {command}\n{captured.err}{'' if target else captured.out}"


@pytest.mark.spark
def test_the_picture_shows_what_its_command_prints(
    spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "examples" / "scale-out")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    arguments = ["simulate-scaleout", "before.json", "--add", "2", "--restore-rate", "500/s"]
    assert run(arguments) == 0
    drawn = picture(f"kstream-plan {' '.join(arguments)}", capsys.readouterr().out, width=80)
    if os.environ.get(WRITE) == "1":
        PICTURE.write_text(drawn, encoding="utf-8")
    assert words(_text(PICTURE)) == words(drawn)
    assert f"({PICTURE.relative_to(ROOT)})" in _text(README)


def test_what_a_real_group_did_is_told_as_it_is_shown() -> None:
    """Compare the sentences about said and happened with the output that is run on its page."""
    shown = _text(PAGES["diff"])
    ((rebalances, planned, happened),) = re.findall(
        r"All (\d+) rebalances came as planned, thread by thread\..*?Last rebalance +(\S+) planned, (\S+) happened",
        shown,
        re.DOTALL,
    )
    answer = " ".join(_text(PAGES["trust"]).split())
    assert f"{planned} planned, {happened} happened, and all {rebalances} rebalances came as planned" in answer
    assert all(re.search(rf"\b{figure}\b", _text(README)) for figure in (rebalances, happened))


@pytest.mark.spark
def test_the_commands_in_a_sentence_of_the_readme_ask_while_the_snapshot_holds(
    spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    [snapshot] = (line for line in _TYPED.findall(_text(README)) if line.endswith("--out orders.json"))
    commands = re.findall(r"`(\w\S+ orders\.json[^`]*)`", _text(README))
    assert {command.partition(" ")[0] for command in commands} >= {"drain", "compare"}
    for command in (snapshot, *commands):
        assert run(shlex.split(command.replace("\\\n", " "))) == 0
        assert "is not in the snapshot: what runs where now is unknown" not in " ".join(capsys.readouterr().out.split())


def test_the_readme_is_short() -> None:
    assert len(_text(README).splitlines()) <= 150


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.stem)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCED.sub("", _text(document))):
        name, _, anchor = target.partition("#")
        if "://" not in name:
            file = (document.parent / name) if name else document
            assert file.exists(), target
            assert not anchor or anchor in _anchors(file), target


def _anchors(document: Path) -> list[str]:
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", _text(document)), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_docstrings_cite_what_is_there() -> None:
    cited = set()
    for file in sorted((ROOT / "kstream_plan").rglob("*.py")):
        for page, section in re.findall(r'[Pp]age ``([\w-]+)``(?:,\s+"([^"]+)")?', _text(file)):
            assert page in PAGES, file
            assert not section or f"# {section}\n" in _text(PAGES[page]), (file, section)
            cited.add(page)
        assert not re.search(r"\brules, section|\bsections? \d", _text(file)), f"{file} cites no page of the package"
    assert cited >= {name for name in PAGES if name.endswith("rules")}


def test_every_command_has_a_page() -> None:
    assert [name for name in COMMANDS if name not in PAGES] == []


def _for_a_shell() -> list[tuple[str, str]]:
    """Return the calls in examples that need more than is here, one line each, with the document."""
    calls = []
    for document in DOCUMENTS:
        shown = "\n".join(re.findall(r"^ *```sh\n(.*?)```", _text(document), re.DOTALL | re.MULTILINE))
        joined = re.sub(r"\\\n\s*", " ", shown)
        joined = Template(joined).safe_substitute(dict(re.findall(r"^([A-Z]\w*)=(\S+)$", joined, re.MULTILINE)))
        calls += [
            (document.stem, call.strip()) for call in re.findall(r"^[^\n#]*?kstream-plan ([^|>#\n]+)", joined, re.M)
        ]
    return calls


def test_commands_for_a_shell_are_taken() -> None:
    for document, call in _for_a_shell():
        name, *given = shlex.split(call)
        if name in COMMANDS:
            try:
                commands()[name].make_context(name, given)
            except click.ClickException as wrong:
                pytest.fail(f"{document}: {call}: {wrong.format_message()}")


def test_queries_ask_for_columns_that_results_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "results"]) == 0
    columns = set(json.loads(capsys.readouterr().out)["properties"])
    queries = "".join(re.findall(r"```sql\n(.*?)```", _text(PAGES["fleet"]), re.DOTALL))
    asked = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b|\boutcome\b", queries))
    assert len(asked) >= 5
    assert asked <= columns


def test_policies_and_scenarios_on_pages_are_ones(tmp_path: Path) -> None:
    file, kinds = tmp_path / "shown.yaml", set()
    for document in DOCUMENTS:
        for block in re.findall(r"^ *```yaml\n(.*?)```", _text(document), re.DOTALL | re.MULTILINE):
            file.write_text(textwrap.dedent(block), encoding="utf-8")
            for kind, key, read in (("scenario", "events:", load_scenario), ("policy", "defaults:", load_policy)):
                if re.search(rf"^ *{key}", block, re.MULTILINE):
                    read(file)
                    kinds.add(kind)
    assert kinds == {"scenario", "policy"}


@pytest.mark.parametrize("document", PAGES.values(), ids=lambda one: one.stem)
def test_what_is_typed_or_copied_fits_on_a_screen(document: Path) -> None:
    text = _text(document)
    blocks = re.findall(r"^ *```sh\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    blocks += [f"$ kstream-plan {command}" for command in _TYPED.findall(text)]
    assert [line for block in blocks for line in block.splitlines() if len(line) > 80] == []


def test_every_page_says_what_it_answers_and_is_listed_by_question() -> None:
    listed = re.findall(r"\((\S+)\.md\)", _text(PAGES["index"]))
    for name, page in PAGES.items():
        title, empty, asks = _text(page).splitlines()[:3]
        assert title.startswith("# ")
        assert not empty
        assert re.match(r"> .*\?", asks)
        assert name in listed or name == "index"


def test_a_page_is_shown_as_it_is_written_without_its_comments(capsys: pytest.CaptureFixture[str]) -> None:
    for asked, name in (([], "index"), (["terms"], "terms")):
        assert run(["help", *asked, "--markdown"]) == 0
        written = re.sub(r"^<!-- also: .* -->\n", "", _text(PAGES[name]), flags=re.MULTILINE)
        assert capsys.readouterr().out == written


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_page_in_a_pipe_is_plain_text_as_wide_as_asked(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in (["terms"], ["terms", "--color", "never"], ["may", "I", "restart", "a", "pod"]):
        assert run(["help", *arguments]) == 0
        text = capsys.readouterr().out
        lines = text.splitlines()
        assert not re.search(r"\x1b|\*\*|`|\]\(|<!--|^#", text, re.MULTILINE)
        assert lines == [line.rstrip() for line in lines]
        assert width - 20 < max(map(len, lines)) <= width


def test_a_page_that_is_not_there_is_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "exitcodes"]) == 2
    assert "kstream-plan help exit-codes" in capsys.readouterr().err


#: What users ask, and which page answers it.
ASKED = {
    "how long": "assign",
    "bounce this instance": "bounce",
    "restart pod": "restart-one",
    "probing never end": "migration-does-not-end",
    "settings better": "compare",
    "merge": "merge-gate",
    "two more pods": "simulate-scaleout",
    "adding two instances cost": "simulate-scaleout",
    "zone": "zone-loss",
    "standbys": "change-standbys",
    "logs Kubernetes": "kubernetes-logs",
    "Connect five minutes": "connect-restart",
    "TimelineHashMap": "streams-rules",
    "what if a whole zone is lost": "zone-loss",
    "May I restart pod 3 right now?": "restart-one",
    "probing never ends": "migration-does-not-end",
    "which settings would make a migration faster": "compare",
    "CI": "(?:merge-gate|kubernetes-logs)",
    "standby 0 to 1": "change-standbys",
    "CronJob": "kubernetes-logs",
    "2000 applications Spark": "fleet",
    "snapshots S3": "s3",
    "should we switch to streams groups": "should-i-switch",
    **dict.fromkeys(("stuck", "loop", "endless", "hang", "rebalance storm", "never settles"), "migration-does-not-end"),
    **dict.fromkeys(("scale up", "backlog", "autoscaler", "HPA"), "scale-out"),
    **dict.fromkeys(("AZ", "rack", "zone outage"), "zone-loss"),
    **dict.fromkeys(
        ("deploy", "rollout", "StatefulSet", "node upgrade evicts all pods, can two restart at a time?"),
        "rolling-restart",
    ),
    **dict.fromkeys(("max.warmup.replicas", "probing.rebalance.interval.ms"), "compare"),
    "scale down": "scale-in",
    "group rebalances every 10 minutes since the deploy, when does it stop?": "migration-does-not-end",
    "a pod was OOMKilled, which tasks are down and until when?": "simulate",
    "does changing num.stream.threads from 2 to 4 move state?": "compare",
    "connector tasks UNASSIGNED after I replaced a worker": "connect-restart",
    "we add 3 Connect workers, do all connectors stop?": "kafka-connect",
    "is one standby better than more warmup replicas?": "compare",
    "state restores from scratch after a restart, why?": "restart-one",
    "half of my instances have no tasks, is that normal?": "why",
    "can I kill -9 a pod safely?": "restart-one",
    "--vary": "compare",
    "is it safe to restart now while a rebalance is running?": "restart-one",
    "why does my task 0_3 jump between pods?": "why",
    "nightly job that warns us before things break": "kubernetes-logs",
    "the Connect leader died, what happens to the tasks?": "kafka-connect",
    "how do I get a snapshot of Connect without log access?": "connect-snapshots",
    "a report for my manager: risk and duration of the scale-out": "reports",
    "offsets.topic": "running-group",
    "which of our 300 apps will have cold starts tonight?": "fleet",
    "compare the plan with what really happened yesterday": "diff",
    "static membership or a longer session timeout, which gives less downtime?": "bounce",
    "how sure are we that these numbers are right?": "trust",
    "does it need access to our production Kafka?": "reads-and-writes",
    "is KIP-1071 worth it for us?": "should-i-switch",
    "how do I speed up restore after scaling out?": "scale-out",
    "block a deploy in Argo CD that causes cold starts": "merge-gate",
    "new pods get no work": "why",
    "streams group number of standbys": "streams-groups",
    "fail the build when too much moves": "merge-gate",
    "which columns does a table of lags need": "history",
    "rebalances forever": "migration-does-not-end",
    "constant rebalancing": "migration-does-not-end",
    "evicting pods on a node": "drain",
    "node drain": "drain",
    "worker restart": "connect-restart",
    "lag": "warm-now",
    "is the restore done": "warm-now",
    "cold start": "assign",
    "downtime": "assign",
    "KIP-441": "designs",
    "KIP-848": "trust",
    "KIP-1071": "streams-groups",
    "KIP-415": "kafka-connect",
}


@pytest.mark.parametrize("words", ASKED)
def test_words_of_a_question_lead_to_its_page(words: str) -> None:
    first_link = re.search(r"\(\S+\.md[)#].*", answer_text(words.split()))
    assert first_link
    assert re.match(rf"\({ASKED[words]}\.md[)#]", first_link[0])


def test_a_page_on_a_terminal_goes_through_the_pager_if_it_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    paged: list[str] = []
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("kstream_plan.cli.commands.help.write_stdout", said.append)
    monkeypatch.setattr("pydoc.pager", paged.append)
    monkeypatch.setenv("LINES", "60")
    monkeypatch.setenv("COLUMNS", "100")
    run(["help", "exit-codes"])
    run(["help", "check"])
    assert "wrong usage" in said[0]
    assert "max_pause_per_task" in paged[0]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_on_a_narrow_terminal_is_all_there(page: str) -> None:
    written = io.StringIO()
    Console(width=80, file=written).print(TerminalMarkdown(_text(PAGES[page])))
    shown = written.getvalue()
    assert shown.count("…") == re.sub(r"<!--.*-->", "", _text(PAGES[page])).count("…")
    assert "<!--" not in shown
    lines = {line.rstrip() for line in shown.splitlines()}
    for line in "".join(_CONSOLE.findall(_text(PAGES[page]))).splitlines():
        assert line in lines or len(line) > 80


def test_the_crontab_line_keeps_what_is_whole(tmp_path: Path) -> None:
    """Run what stands after the schedule, with instances of which one answers, one is gone and one is cut off."""
    (line,) = re.findall(r"^```crontab\n(.*)\n```$", _text(PAGES["warm-now"]), re.MULTILINE)
    *schedule, command = line.split(" ", 5)
    assert schedule == ["*"] * 5
    assert "%" not in command, "which is a line end in a crontab"
    scrapes, programs = tmp_path / "scrapes", tmp_path / "bin"
    scrapes.mkdir()
    programs.mkdir()
    for name in ("orders-1", "orders-2"):
        (scrapes / f"{name}.prom").write_text("before\n")
    curl = programs / "curl"
    curl.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'case "$*" in *orders-0:*) echo now > "$last";; *orders-2:*) printf cut > "$last"; exit 18;; *) exit 7;; esac\n'
    )
    curl.chmod(0o755)
    subprocess.run(
        ["/bin/sh", "-c", command.replace("/srv/warm", str(tmp_path))],
        env={"PATH": f"{programs}:{os.defpath}"},
        check=False,
    )
    found = {file.stem: file.read_text() for file in scrapes.iterdir()}
    assert found == {"orders-0": "now\n", "orders-1": "before\n", "orders-2": "before\n"}


@pytest.mark.parametrize("page", ["contributing", "release"])
def test_what_developers_are_pointed_to_is_there(page: str) -> None:
    text = _text(PAGES[page])
    paths = set(re.findall(r"(?<![\w/.])((?:\.ci|tests|kstream_plan)/[\w./]*\w|render/[\w./]*\w|[A-Z]+\.md)", text))
    assert len(paths) > 2
    assert [path for path in paths if not (ROOT / path).exists() and not (ROOT / "kstream_plan" / path).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    markers = {marker.partition(":")[0] for marker in project["tool"]["pytest"]["ini_options"]["markers"]}
    assert set(re.findall(r"(?:pytest |`)-m (\w+)", text)) <= markers


def test_ci_calls_the_readme_s_own_test_command() -> None:
    test_command = next(line for line in _text(README).splitlines() if line.endswith("/pytest"))
    assert test_command in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_every_step_kind_is_told() -> None:
    for step in Step.__args__:  # type: ignore[attr-defined]
        kind = step.__dataclass_fields__["kind"].default
        assert f"| `{kind}` |" in _text(PAGES["plans"])


def test_every_dependency_has_its_reason_and_its_bound() -> None:
    text = _text(PAGES["dependencies"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *extras["balanced"], *extras["kafka"]]:
        name, bound = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        assert f"| `{name}` ≥ {bound} |" in text
    for requirement in extras["dev"]:
        name = requirement.partition(">=")[0]
        assert f"`{name}`" in text or name.startswith("types-")


def test_the_changelog_has_one_line_for_each_thing_by_release() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.*?)\]", text, re.MULTILINE) == ["Unreleased", "0.2.0", "0.1.0"]
    assert "### Upgrading" in text.partition("## [0.2.0]")[2].partition("## [0.1.0]")[0]
    assert len(text.splitlines()) <= 100
    assert re.findall(r"^(?![#<A-Z]|- |$).*", text, re.MULTILINE) == []
    assert __version__.startswith("0.2.0")
