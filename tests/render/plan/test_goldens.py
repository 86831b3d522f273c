"""What people see, looked at line by line once and kept."""

import pytest
from rich.cells import cell_len

from kstream_plan.model import TaskId
from kstream_plan.render import markdown as render_markdown
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.pages.plan import excerpt_page
from kstream_plan.render.pages.ranks import ranks_page
from kstream_plan.render.pages.steps import Focus
from kstream_plan.render.terminal import to_terminal
from tests.helpers import plan_cases
from tests.helpers.goldens import assert_golden


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_table_at_80_columns(name: str) -> None:
    assert_golden(f"table/{name}.txt", table(plan_cases.case(name)))


@pytest.mark.parametrize("name", ["scale-out", "scale-out-standbys", "pods"])
def test_table_at_120_columns(name: str) -> None:
    assert_golden(f"table-wide/{name}.txt", table(plan_cases.case(name), width=120))


@pytest.mark.parametrize("name", ["scale-out", "settled", "evil-names", "crash"])
def test_markdown(name: str) -> None:
    assert_golden(f"markdown/{name}.md", markdown(plan_cases.case(name), verbose=name == "crash"))


def test_table_with_every_step() -> None:
    assert_golden("table/crash-verbose.txt", table(plan_cases.case("crash"), verbose=True))


def test_the_story_of_one_task() -> None:
    page = excerpt_page(plan_cases.case("scale-out-standbys"), Focus(task_id=TaskId(0, 5)))
    assert_golden("table/one-task.txt", to_terminal(page))
    assert_golden("markdown/one-task.md", render_markdown.to_markdown(page))


def test_the_story_of_one_instance_in_one_round() -> None:
    plan = plan_cases.case("scale-out-standbys")
    focus = Focus(round_number=3, process_id=plan.group.instances[0].process_id)
    assert_golden("table/one-instance.txt", to_terminal(excerpt_page(plan, focus)))


def test_ranks() -> None:
    assert_golden("table/ranks.txt", to_terminal(ranks_page(plan_cases.snapshot("crash-standbys"))))


@pytest.mark.parametrize("name", plan_cases.NAMES)
@pytest.mark.parametrize("width", [40, 60, 80, 97, 120, 200])
def test_no_line_is_wider_than_the_page_and_none_ends_in_blanks(name: str, width: int) -> None:
    for line in table(plan_cases.case(name), width=width, verbose=name == "crash").splitlines():
        assert cell_len(line) <= width or line.startswith("Next: ")  # a command stays in one piece
        assert line == line.rstrip()
