"""``wait``: go on once a running group is ready, and that is proven."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

import typer

from kstream_plan.cli.actions.live_group import LiveGroup, live_group
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.live import Live
from kstream_plan.cli.options.parameters import one_of, parse_name, parser, takes
from kstream_plan.cli.output import warn, write_stderr, write_stdout
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.errors import KstreamPlanError, UsageError
from kstream_plan.live.conditions import CONDITIONS, ConditionAnswer, Question
from kstream_plan.live.polls import Clock, SystemClock, polls
from kstream_plan.model.answer import Answer
from kstream_plan.model.times import duration, format_time, utc
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.caught_up_evidence import TRUST_MS
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count

#: What is statement where a condition holds.
_HOLDS: Mapping[str, str] = {
    "settled": "The group has settled",
    "caught-up": "Every copy is caught up",
    "safe-to-restart": "{names} may restart now",
    "safe-to-stop": "{names} may stop now",
}
#: What is said of a log by whose times it is not known how old it is.
_AHEAD = (
    "The newest record is of {time} later than this machine's clock: how long ago the group was last seen is unknown; "
    "times with a zone tell (kubectl logs --timestamps)"
)
#: So many reasons are statement of a condition that does not hold.
_MOST_REASONS = 3
#: Durations, which change from poll to poll while nothing else does.
_DURATION = re.compile(r"\b\d[\d.,]*(?:ms|s|m|h|d)(?:\d+(?:s|m|h))?\b")


class WaitOptions(Live):
    """What ``wait`` is asked."""

    condition: Annotated[
        str,
        typer.Argument(
            help=f"Condition to wait for: {', '.join(CONDITIONS)}.",
            show_default=False,
            **one_of(CONDITIONS, "CONDITION"),
        ),
    ]
    instances: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INSTANCE...",
            parser=parse_name,
            show_default=False,
            help="Instances to restart or stop: process ids, prefixes of them, or hosts.",
        ),
    ] = None
    hold_for: Annotated[
        int | None,
        typer.Option(
            "--for", metavar="DURATION", parser=parser(parse_duration), help="Wait until it has held for so long."
        ),
    ] = None
    restart: shared.Restart = None


@takes(WaitOptions)
def wait(options: WaitOptions) -> None:
    """Wait until a condition holds; exit code 6 if that takes too long."""
    with expected_failures(debug=options.debug):
        _check(options)
        if wait_until(options, SystemClock()):
            return
        write_stderr(f"gave up after {duration(options.give_up_after or 0)}")
    raise typer.Exit(ExitCode.TIMED_OUT)


def _check(options: WaitOptions) -> None:
    """Check that instances are named where the condition is about some, and only there."""
    is_about_instances = options.condition.startswith("safe-")
    if is_about_instances and not options.instances:
        raise UsageError(f"{options.condition} needs an instance", fix=f"wait {options.condition} INSTANCE")
    if options.instances and not is_about_instances:
        message = f"{options.condition} is about the group, not about {printable(options.instances[0])}"
        raise UsageError(message, fix="leave the instance out, or wait for safe-to-restart or safe-to-stop")
    if options.restart is not None and options.condition != "safe-to-restart":
        raise UsageError("--restart goes with safe-to-restart", fix="leave it out")


def wait_until(options: WaitOptions, clock: Clock) -> bool:
    """Wait until the condition holds, and say why it does not whenever that changes; ``False``: it is time to give up.

    Raises:
        ClusterError: the source does not answer the first time.
        UsageError: the condition is not about a group of this kind.
        ScenarioError: there is no such instance.
    """
    last: tuple[Answer, str] | None = None
    since_ms: int | None = None
    last_decision: object = None
    with live_group(options) as ask:
        warnings = set[str]()
        for poll in polls(
            partial(_state_now, options, ask, warnings),
            clock,
            every_ms=options.every_ms,
            give_up_after_ms=options.give_up_after,
        ):
            state, decision = poll.answer or (_state_without_answer(poll.problem), None)
            if state.answer is not Answer.YES:
                since_ms = None
            elif since_ms is None or decision != last_decision:
                since_ms, last_decision = poll.at_ms, decision
            remaining_ms = 0 if since_ms is None else (options.hold_for or 0) - (poll.at_ms - since_ms)
            sentence = _sentence(options, state, remaining_ms)
            statement = state.answer, _DURATION.sub("", sentence)
            if statement != last:
                write_stdout(f"{state.answer.word}  {utc(format_time(poll.at_ms))}  {sentence}\n")
                last = statement
            if state.answer is Answer.YES and remaining_ms <= 0:
                return True
    return False


def _state_now(
    options: WaitOptions, ask: Callable[[int, int | None], LiveGroup], warnings: set[str], now_ms: int
) -> tuple[ConditionAnswer, object]:
    """Ask the group as it is now, and warn once of what is not known of it.

    Returns:
        Whether the condition holds, and what every rebalance changes.
    """
    group = ask(now_ms, None)
    new = [note.message for note in group.notes if note.message not in warnings]
    warnings.update(new)
    warn(new)
    plan_options = PlanOptions(now_ms=group.now_ms, trust_ms=options.trust_reports_of)
    restart_ms = shared.USUAL_RESTART_MS if options.restart is None else options.restart
    question = Question(options.instances or (), restart_ms, plan_options)
    if group.ahead_ms > max(TRUST_MS, options.trust_reports_of or 0):
        state = ConditionAnswer(Answer.UNKNOWN, (_AHEAD.format(time=duration(group.ahead_ms)),))
    else:
        state = CONDITIONS[options.condition](group.snapshot, question)
    if state.answer is not Answer.YES:
        group.generations.check_goes_on()
    decision = group.snapshot.decision
    number = group.snapshot.state.generation if decision is None else decision.generation
    return state, (number, group.snapshot.state.holdings)


def _state_without_answer(problem: KstreamPlanError | None) -> ConditionAnswer:
    """Return that nothing is known while the source does not answer, or tells of no group that has settled."""
    return ConditionAnswer(Answer.UNKNOWN, (str(problem),))


def _sentence(options: WaitOptions, state: ConditionAnswer, remaining_ms: int) -> str:
    """Return what holds, or the first reasons why it does not."""
    if state.answer is Answer.YES:
        names = " and ".join(map(printable, options.instances or ()))
        holds = _HOLDS[options.condition].format(names=names)
        return f"{holds}; waiting for {duration(remaining_ms)} more" if remaining_ms > 0 else holds
    surplus = len(state.reasons) - _MOST_REASONS
    reasons = [*state.reasons[:_MOST_REASONS], *([f"{count(surplus, 'more reason')}"] if surplus > 0 else [])]
    return printable(". ".join(reason.removesuffix(".") for reason in reasons))
