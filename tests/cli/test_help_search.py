"""``help QUESTION`` names the page and the section that answer, and shows the answer at once.

``questions.tsv`` has 278 questions as users type them, each with the pages that answer it; a hundred of them
with what has to be read on the first screens: the best hit of the search, and that section opened, 24 lines of 80
columns each.
"""

import io
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from kstream_plan.cli import run
from kstream_plan.cli.commands.help import answer_text
from kstream_plan.cli.terminal_markdown import TerminalMarkdown
from kstream_plan.errors import UsageError
from kstream_plan.pages.search import Search
from kstream_plan.pages.sections import page_names, page_text, sections_of

PACKAGE = Path(__file__).parents[2] / "kstream_plan"
#: Of so many of all questions the page comes first, comes among the first three, and shows the answer on its screens.
REACHED = (250, 270, 85)


class Question(NamedTuple):
    """What is asked, which pages answer it, and what of it has to be seen."""

    pages: list[str]
    seen: str
    text: str


def questions() -> list[Question]:
    _, *lines = (Path(__file__).parent / "questions.tsv").read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines]
    return [Question(pages.split(","), seen, text) for pages, seen, text in fields]


def first_screen(text: str) -> str:
    written = io.StringIO()
    Console(width=80, file=written).print(TerminalMarkdown(text))
    return " ".join(" ".join(written.getvalue().splitlines()[:24]).split())


def reached(question: Question) -> tuple[bool, bool, bool]:
    """Return whether its page comes first, among the first three, and whether the answer is seen there."""
    found = answer_text(question.text.split())
    links = list(re.findall(r"\(([\w-]+)\.md(#[\w-]+)?\)$", found, re.MULTILINE))
    pages = [page for page, _ in links]
    first = pages[:1] != [] and pages[0] in question.pages
    screens = first_screen(found) + first_screen(answer_text(["".join(links[0])])) if links else ""
    return (
        first,
        any(page in question.pages for page in pages[:3]),
        first and bool(question.seen and re.search(question.seen, screens)),
    )


def test_questions_find_their_pages_and_answers() -> None:
    sums = tuple(sum(one) for one in zip(*(reached(question) for question in questions()), strict=True))
    assert all(got >= least for got, least in zip(sums, REACHED, strict=True)), f"first, among three, seen: {sums}"


def test_the_pages_of_the_questions_are_there() -> None:
    assert {page for question in questions() for page in question.pages} <= set(page_names())


def messages() -> Iterator[str]:
    """Yield what the page says that this tool itself prints, piece by piece."""
    for section in sections_of("messages"):
        if section.heading.startswith("This tool"):
            for line in section.text.splitlines():
                if line.startswith("- **"):
                    for said in re.findall(r"\*\*(.+?)\*\*", line.partition(": ")[0]):
                        yield from (part.strip() for part in said.split("…") if len(part.strip()) > 3)


def test_messages_that_are_explained_are_printed() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py")))
    found = [said for said in messages() if "Java heap space" not in said and not said.endswith("Exception")]
    assert len(found) >= 15
    assert [said for said in found if said not in source] == []


@pytest.mark.parametrize(
    ("pasted", "page"),
    [
        (
            "kstream-plan: error: README.md: no decision of Kafka Streams' HighAvailabilityTaskAssignor is in it.",
            "messages",
        ),
        ("Requested to schedule probing rebalance for 600000 ms.", "messages"),
        (
            "kstream-plan: error: p.yaml, line 2, column 12: defaults has 'max_durration', which is not known.",
            "messages",
        ),
    ],
)
def test_a_message_that_is_pasted_finds_what_it_means(pasted: str, page: str) -> None:
    assert f"({page}.md" in answer_text(pasted.split()).splitlines()[0]


def test_a_section_is_opened_by_its_name_or_its_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    for asked in (["rules#stateless-tasks"], ["rules", "stateless", "tasks"], ["rules", "stateless"]):
        assert run(["help", *asked, "--markdown"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith("## Stateless tasks\n")
        assert "## Split over threads" not in shown
        assert shown.endswith("The whole page: `kstream-plan help rules`\n")


def test_a_section_has_the_smaller_ones_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "rules#balanced-target", "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert "### Standbys by tags" in shown
    assert "## Movements" not in shown


def test_a_section_that_is_not_there_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "why#nothing"]) == 2
    assert "kstream-plan help why#why-it-was-so-then" in capsys.readouterr().err


def test_every_section_can_be_opened_and_no_two_have_one_name() -> None:
    for page in page_names():
        sections = sections_of(page)
        assert len({section.name for section in sections}) == len(sections)
        assert "".join(section.text for section in sections).split() == page_text(page).split()
        for section in sections[1:]:
            assert answer_text([section.name]).startswith(section.text.splitlines()[0])


def test_long_pages_say_at_the_top_what_is_on_them() -> None:
    for page in page_names():
        if len(page_text(page).split()) > 1200:
            assert "On this page: [" in sections_of(page)[0].text, page


def test_the_best_hit_shows_an_answer_and_a_command_that_opens_it() -> None:
    found = answer_text(["may", "I", "restart", "a", "pod"])
    assert found.split("\n\n")[1].startswith("Yes, in a settled group, if it is back")
    assert "kstream-plan bounce orders.json --instance orders-2" in found
    assert "\nMore: `kstream-plan help restart-one`\n" in found
    assert len(found.splitlines()) <= 24


def search() -> Search:
    return Search([section for name in page_names() for section in sections_of(name)])


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("no tasks at all on an instance", "if it has not joined"),
        ("how do I speed up a restore", "copies that restore there at once share it"),
        ("nightly job", "as a CronJob"),
        ("state is rebuilt from scratch", "if the disk is empty"),
        ("kill -9", "is unassigned until"),
        ("new topology", "That is not planned"),
        ("what if the Connect leader dies", "there is no delay at all"),
        ("why does probing never end", "60 moves take five hours"),
        ("what may be merged", "Exit code 3"),
    ],
)
def test_what_is_asked_most_is_answered_at_once(question: str, says: str) -> None:
    assert says in answer_text(question.split())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("zone lost", "lost zone"),
        ("restart", "restarted"),
        ("restart", "Restarting?"),
        ("evict a pod", "evicts a pod"),
        ("TaskCorruptedException", "TaskCorruptedException"),
        ("probing.rebalance.interval.ms", "probing.rebalance.interval.ms="),
    ],
)
def test_words_in_any_order_and_with_other_endings_find_the_same(one: str, other: str) -> None:
    assert search().best(one) == search().best(other) != []


def test_names_are_found_whole_and_in_parts() -> None:
    for asked in ("TaskCorruptedException", "corrupted exception"):
        assert search().best(asked)[0][0].name == "messages#lost-or-damaged-state"
    assert "max.poll.interval.ms" in search().best("max.poll.interval.ms")[0][0].text


@pytest.mark.parametrize("question", ["", "???", '"', "🙂", "a\udc80", "xyzzyx"])
def test_what_is_on_no_page_is_not_found(question: str) -> None:
    assert [item for item, _ in search().best(question) if "a" not in question] == []


@pytest.mark.parametrize(
    "question", ['pods" AND NOT (', "NEAR(pods)", "pods*", "called: pods", "pods " + "x " * 50_000]
)
def test_a_question_is_words_and_nothing_else(question: str) -> None:
    assert search().best(question)[0][1] > 0


def test_without_full_text_search_pages_are_still_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(path: str, *, real: Callable[[str], sqlite3.Connection] = sqlite3.connect) -> sqlite3.Connection:
        connection = real(path)
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_CREATE_VTABLE else sqlite3.SQLITE_OK
        )
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(UsageError, match="FTS5"):
        search()
    assert run(["help", "why", "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# ")
    assert shown.splitlines() == [line for line in page_text("why").splitlines() if not line.startswith("<!--")]


def test_no_comment_of_a_page_is_shown() -> None:
    for page in page_names():
        assert "<!-- also" not in answer_text([page])
        assert not any("<!-- also" in answer_text([section.name]) for section in sections_of(page))


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("nonsense", "help lists the pages by question"),
        ("doubts", "help lists the pages by question"),
        ("rebalnce", "kstream-plan help rebalance, or "),
        ("session.timeout.mss", "kstream-plan help session.timeout.ms, or "),
        ("--restore-rat", "kstream-plan help restore-rate, or "),
        ("qwertz foo", "help lists the pages by question"),
    ],
)
def test_a_word_that_no_page_has_opens_no_other_page(words: str, near: str) -> None:
    with pytest.raises(UsageError, match=r"^no page has '") as raised:
        answer_text(words.split())
    assert near in (raised.value.fix or "")
    assert raised.value.exit_code == 2


def test_of_a_question_it_is_said_which_word_no_page_has() -> None:
    assert answer_text(["qwertz", "rebalance"]).startswith("No page has: qwertz.\n")
    assert "No page has" not in answer_text(["why", "does", "it", "rebalance"])
