"""Offline planner for Kafka Streams task assignment.

The command line's twin in Python::

    import kstream_plan

    for snapshot in kstream_plan.read(["before.json"]):
        plan = kstream_plan.plan(snapshot)
        print(kstream_plan.to_table(plan))

Everything named in ``__all__`` is public. Nothing is imported before it is used, and Spark only by :func:`read`.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import warn

from kstream_plan.version import __version__ as __version__

if TYPE_CHECKING:
    from kstream_plan.cli.actions.variants import axes_of as vary
    from kstream_plan.comparison.alternatives import beside_each_other as beside_each_other
    from kstream_plan.comparison.diff import compare as diff
    from kstream_plan.comparison.plan_and_history import said_and_happened as said_and_happened
    from kstream_plan.comparison.sides import plan_course as plan_course
    from kstream_plan.comparison.sides import plan_side as plan_side
    from kstream_plan.comparison.sides import snapshot_side as snapshot_side
    from kstream_plan.documents.client_properties import load_client_properties as load_client_properties
    from kstream_plan.documents.plan.files import read_plan_file as load_plans
    from kstream_plan.documents.policy_file import load_policy as load_policy
    from kstream_plan.documents.prediction import read_said_and_happened as read_said_and_happened
    from kstream_plan.documents.results import read_results as read_results
    from kstream_plan.documents.scenario_file import load_scenario as load_scenario
    from kstream_plan.documents.streams_config import load_streams_config as load_streams_config
    from kstream_plan.documents.streams_config import with_overrides as with_overrides
    from kstream_plan.errors import KstreamPlanError as KstreamPlanError
    from kstream_plan.model import Assignment as Assignment
    from kstream_plan.model import Snapshot as Snapshot
    from kstream_plan.model.scenario import Scenario as Scenario
    from kstream_plan.model.settings import AssignmentConfig as AssignmentConfig
    from kstream_plan.planner.options import PlanOptions as PlanOptions
    from kstream_plan.plans import Plan as Plan
    from kstream_plan.plans.result import result_of as result_of
    from kstream_plan.plans.simulated import Simulation as Simulation
    from kstream_plan.policy.check import check_all as check_all
    from kstream_plan.policy.check import check_plan as check
    from kstream_plan.policy.findings import Standard as Standard
    from kstream_plan.policy.limits import Limit as Limit
    from kstream_plan.policy.limits import Policy as Policy
    from kstream_plan.protocols.upgrade import upgrade as upgrade
    from kstream_plan.render.answers import to_html as to_html
    from kstream_plan.render.answers import to_json as to_json
    from kstream_plan.render.answers import to_markdown as to_markdown
    from kstream_plan.render.answers import to_table as to_table
    from kstream_plan.simulation.alternatives import alternatives as alternatives
    from kstream_plan.simulation.alternatives import saved_alternatives as saved_alternatives
    from kstream_plan.simulation.bounces import bounce as bounce
    from kstream_plan.simulation.connect_upgrade import to_sessioned as to_sessioned
    from kstream_plan.simulation.cures import cures as cures
    from kstream_plan.simulation.drain import drain as drain
    from kstream_plan.simulation.drain_workers import drain_workers as drain_workers
    from kstream_plan.simulation.one_plan import assign_once as assign
    from kstream_plan.simulation.one_plan import plan_checked as plan
    from kstream_plan.simulation.scale_out import scale_out as scale_out
    from kstream_plan.simulation.simulate import simulate as simulate
    from kstream_plan.simulation.streams_migration import switch as switch
    from kstream_plan.simulation.why import why as why
    from kstream_plan.snapshots import read as read
    from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster as KafkaCluster
    from kstream_plan.snapshots.broker.source import group_history as group_history
    from kstream_plan.snapshots.broker.source import running_group as running_group
    from kstream_plan.snapshots.broker.topology_text import read_topology as read_topology
    from kstream_plan.snapshots.connect_log.history import read_connect_logs as read_connect_logs
    from kstream_plan.snapshots.leader_log.history import read_leader_logs as read_leader_logs
    from kstream_plan.snapshots.metrics.measurements import read_measurements as read_measurements
    from kstream_plan.snapshots.metrics.overlay import with_measured_lags as with_measured_lags

#: Public name → (module, name in it).
_PUBLIC = {
    "Assignment": ("kstream_plan.model", "Assignment"),
    "AssignmentConfig": ("kstream_plan.model.settings", "AssignmentConfig"),
    "KafkaCluster": ("kstream_plan.snapshots.broker.kafka_cluster", "KafkaCluster"),
    "KstreamPlanError": ("kstream_plan.errors", "KstreamPlanError"),
    "Limit": ("kstream_plan.policy.limits", "Limit"),
    "Plan": ("kstream_plan.plans", "Plan"),
    "PlanOptions": ("kstream_plan.planner.options", "PlanOptions"),
    "Policy": ("kstream_plan.policy.limits", "Policy"),
    "Scenario": ("kstream_plan.model.scenario", "Scenario"),
    "Simulation": ("kstream_plan.plans.simulated", "Simulation"),
    "Snapshot": ("kstream_plan.model", "Snapshot"),
    "Standard": ("kstream_plan.policy.findings", "Standard"),
    "alternatives": ("kstream_plan.simulation.alternatives", "alternatives"),
    "assign": ("kstream_plan.simulation.one_plan", "assign_once"),
    "beside_each_other": ("kstream_plan.comparison.alternatives", "beside_each_other"),
    "check": ("kstream_plan.policy.check", "check_plan"),
    "check_all": ("kstream_plan.policy.check", "check_all"),
    "bounce": ("kstream_plan.simulation.bounces", "bounce"),
    "cures": ("kstream_plan.simulation.cures", "cures"),
    "read_said_and_happened": ("kstream_plan.documents.prediction", "read_said_and_happened"),
    "said_and_happened": ("kstream_plan.comparison.plan_and_history", "said_and_happened"),
    "diff": ("kstream_plan.comparison.diff", "compare"),
    "drain": ("kstream_plan.simulation.drain", "drain"),
    "drain_workers": ("kstream_plan.simulation.drain_workers", "drain_workers"),
    "read_results": ("kstream_plan.documents.results", "read_results"),
    "result_of": ("kstream_plan.plans.result", "result_of"),
    "group_history": ("kstream_plan.snapshots.broker.source", "group_history"),
    "load_client_properties": ("kstream_plan.documents.client_properties", "load_client_properties"),
    "load_plans": ("kstream_plan.documents.plan.files", "read_plan_file"),
    "load_policy": ("kstream_plan.documents.policy_file", "load_policy"),
    "load_scenario": ("kstream_plan.documents.scenario_file", "load_scenario"),
    "load_streams_config": ("kstream_plan.documents.streams_config", "load_streams_config"),
    "plan": ("kstream_plan.simulation.one_plan", "plan_checked"),
    "plan_course": ("kstream_plan.comparison.sides", "plan_course"),
    "plan_side": ("kstream_plan.comparison.sides", "plan_side"),
    "read": ("kstream_plan.snapshots", "read"),
    "read_connect_logs": ("kstream_plan.snapshots.connect_log.history", "read_connect_logs"),
    "read_leader_logs": ("kstream_plan.snapshots.leader_log.history", "read_leader_logs"),
    "read_measurements": ("kstream_plan.snapshots.metrics.measurements", "read_measurements"),
    "read_topology": ("kstream_plan.snapshots.broker.topology_text", "read_topology"),
    "running_group": ("kstream_plan.snapshots.broker.source", "running_group"),
    "saved_alternatives": ("kstream_plan.simulation.alternatives", "saved_alternatives"),
    "scale_out": ("kstream_plan.simulation.scale_out", "scale_out"),
    "simulate": ("kstream_plan.simulation.simulate", "simulate"),
    "snapshot_side": ("kstream_plan.comparison.sides", "snapshot_side"),
    "switch": ("kstream_plan.simulation.streams_migration", "switch"),
    "to_html": ("kstream_plan.render.answers", "to_html"),
    "to_json": ("kstream_plan.render.answers", "to_json"),
    "to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "to_sessioned": ("kstream_plan.simulation.connect_upgrade", "to_sessioned"),
    "to_table": ("kstream_plan.render.answers", "to_table"),
    "upgrade": ("kstream_plan.protocols.upgrade", "upgrade"),
    "vary": ("kstream_plan.cli.actions.variants", "axes_of"),
    "why": ("kstream_plan.simulation.why", "why"),
    "with_measured_lags": ("kstream_plan.snapshots.metrics.overlay", "with_measured_lags"),
    "with_overrides": ("kstream_plan.documents.streams_config", "with_overrides"),
}

__all__ = [
    "Assignment",
    "AssignmentConfig",
    "KafkaCluster",
    "KstreamPlanError",
    "Limit",
    "Plan",
    "PlanOptions",
    "Policy",
    "Scenario",
    "Simulation",
    "Snapshot",
    "Standard",
    "__version__",
    "alternatives",
    "assign",
    "beside_each_other",
    "bounce",
    "check",
    "check_all",
    "cures",
    "diff",
    "drain",
    "drain_workers",
    "group_history",
    "load_client_properties",
    "load_plans",
    "load_policy",
    "load_scenario",
    "load_streams_config",
    "plan",
    "plan_course",
    "plan_side",
    "read",
    "read_connect_logs",
    "read_leader_logs",
    "read_measurements",
    "read_results",
    "read_said_and_happened",
    "read_topology",
    "result_of",
    "running_group",
    "said_and_happened",
    "saved_alternatives",
    "scale_out",
    "simulate",
    "snapshot_side",
    "switch",
    "to_html",
    "to_json",
    "to_markdown",
    "to_sessioned",
    "to_table",
    "upgrade",
    "vary",
    "why",
    "with_measured_lags",
    "with_overrides",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; an old one warns.

    Raises:
        ImportError: on Windows, where locks and signals are others.
        AttributeError: there is no such name.
    """
    if os.name == "nt" and not name.startswith("_"):
        raise ImportError("kstream-plan does not run on Windows. Fix: run it in WSL")
    if name not in _PUBLIC:
        return _old(name)
    # results show themselves in notebooks by what knows pages and tables, which they do not
    vars(import_module("kstream_plan.plans.notebooks"))["shows"] = _show
    module, attribute = _PUBLIC[name]
    return getattr(import_module(module), attribute)


def _old(name: str) -> Any:
    """Return what a public name of 0.1.0 or of a version since then was for one kind of answers."""
    new = name[name.rfind("_to_") + 1 :]
    function = import_module("kstream_plan.old_names").OLD.get(name) if new in _PUBLIC else None
    if function is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = f"kstream_plan.{name} goes with 0.3.0: kstream_plan.{new} takes every answer"
    warn(message, DeprecationWarning, stacklevel=3)
    return function


def _show(what: str, result: object) -> Any:
    if what == "html":
        return import_module("kstream_plan.render.notebooks").result_html(result)
    return import_module("kstream_plan.answers.tables").table(what, result)


def __dir__() -> list[str]:
    """List the public names as well."""
    return sorted({*globals(), *__all__})
