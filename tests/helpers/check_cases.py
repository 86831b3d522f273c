"""Checks that every report has to show, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache
from types import MappingProxyType

from kstream_plan.documents.policy_file import read_policy
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Check, CheckedPlan, Standard
from kstream_plan.policy.limits import Policy, Waiver
from kstream_plan.simulation.cures import with_cures
from kstream_plan.simulation.one_plan import plan
from tests.helpers import plan_cases

NOW = datetime(2026, 11, 21, 13, 2, 40, tzinfo=UTC)
#: The policy of the sample, and stricter ones.
SAMPLE = b"""version: 1
defaults: {max_duration: 45m, max_cold_handovers: 0, max_pause_per_task: 30s, max_pause_per_handover: 5s,
           max_peak_extra_copies: 8, max_snapshot_age: 24h}
"""
STRICT = b"""version: 1
defaults:
  max_duration: {limit: 5m, reason: "the shop closes at 20:00; 100% of it"}
  max_rebalances: {limit: 3, level: warning}
  max_moves: 5%
  max_warmups: 3
  max_pause_per_handover: 2s
  max_paused_tasks_at_once: 3
  max_restored_records: 2_000
  max_peak_extra_copies: 1
  balance_factor: 1
  min_standbys: 1
  distinct_tag_values: {zone: 2}
  max_snapshot_age: 1m
  require_generation: 7
"""


def _checked(name: str, policy: bytes | Policy, *, cures: bool = False, baseline: str | None = None) -> CheckedPlan:
    read = policy if isinstance(policy, Policy) else read_policy(policy, "policy.yaml")
    standard = Standard(read, NOW)
    before = None if baseline is None else plan_cases.case(baseline)
    checked = check_plan(plan_cases.case(name), standard, baseline=before, source="plan.json")
    if not cures:
        return checked
    return with_cures(checked, plan_cases.snapshot(name), lambda again: iter([check_plan(plan(again), standard)]))


def _waived() -> Policy:
    waivers = [
        Waiver("S*", "max_moves", date(2027, 1, 31), "OPS-412"),
        Waiver("S1", "max_rebalances", date(2026, 11, 1), "OPS-7 [x](y) ::error::no 50%"),
    ]
    return replace(read_policy(STRICT, "policy.yaml"), waivers=tuple(waivers))


def _broken() -> CheckedPlan:
    result = plan_cases.case("scale-out")
    return check_plan(replace(result, summary=replace(result.summary, moves=1)), Standard(Policy(), NOW))


_CASES: Mapping[str, Callable[[], Check]] = MappingProxyType(
    {
        "sample": lambda: check_all([_checked("scale-out", SAMPLE, cures=True, baseline="settled")], NOW),
        "passed": lambda: check_all([_checked("settled", Policy())], NOW),
        "strict": lambda: check_all([_checked("scale-out", STRICT, cures=True)], NOW),
        "uneven": lambda: check_all(
            [_checked(name, b"version: 1\ndefaults: {balance_factor: 3}") for name in ("never-ready", "settled")], NOW
        ),
        "waived": lambda: check_all([_checked("scale-out", _waived())], NOW, fail_on_warning=True),
        "evil-names": lambda: check_all([_checked("evil-names", STRICT)], NOW),
        "fleet": lambda: check_all(
            [_checked(name, SAMPLE) for name in ("settled", "crash", "never-ready", "pods")],
            NOW,
            errors=[(plan_cases.EVIL, f"application {plan_cases.EVIL!r}: is wrong"), (None, "x.json: not JSON")],
        ),
        "defect": lambda: check_all([_broken()], NOW),
    }
)
NAMES = tuple(_CASES)


@cache
def case(name: str) -> Check:
    """The check of that name; made once."""
    return _CASES[name]()
