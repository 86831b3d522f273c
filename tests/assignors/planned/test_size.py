"""Large groups are decided at once, and the time grows as the group does."""

from tests.benchmarks.planned import file_of, group_of, seconds


def test_three_thousand_tasks_on_120_members():
    without, followed, _ = seconds(group_of(3_000, 120), None)
    content = file_of(group_of(3_000, 120), followed)
    by_file, followed, decision = min((seconds(group_of(3_000, 120), content) for _ in range(3)), key=lambda of: of[0])
    assert followed.refusal is None
    assert len(decision.tasks_waiting) == 500
    assert by_file < 2
    assert without < 5
    quarter = min(
        seconds(group_of(1_500, 60), file_of(group_of(1_500, 60), seconds(group_of(1_500, 60), None)[1]))[0]
        for _ in range(3)
    )
    assert by_file < 12 * max(quarter, 0.01)
