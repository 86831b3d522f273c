"""What each command does, in one line, in a few sentences, and by example."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class CommandHelp(NamedTuple):
    """The help of a command above its options.

    summary: its line in the list of commands, short enough not to be cut off at 80 columns.
    details: what else a reader has to know, in sentences.
    examples: one to three command lines, without the name of the program.
    """

    summary: str
    details: str
    examples: tuple[str, ...]

    @property
    def text(self) -> str:
        """The help as Typer takes it; examples are not wrapped."""
        lines = "\n".join(f"  kstream-plan {example}" for example in self.examples)
        return f"{self.summary}. {self.details}\n\n\b\n{lines}"


#: Every command, in the order of the list; each is a function in the module of its name.
COMMANDS: Mapping[str, CommandHelp] = MappingProxyType(
    {
        "assign": CommandHelp(
            "Plan a rebalance that starts now",
            "Shows every rebalance that follows until the group has settled.",
            ("assign orders.json", "assign orders.json --restore-rate 5000/s --max-warmup-replicas 4 --out plan.json"),
        ),
        "simulate-scaleout": CommandHelp(
            "Simulate instances that join or stop",
            "Shows what a scale-out or scale-in costs before anything is started or stopped.",
            (
                "simulate-scaleout orders.json --add 2 --restore-rate 5000/s",
                "simulate-scaleout orders.json --remove orders-4",
            ),
        ),
        "simulate": CommandHelp(
            "Simulate a scenario of timed events",
            "A scenario is a YAML file: who joins, leaves, crashes or returns when, and which settings change.",
            ("simulate orders.json scenario.yaml", "simulate orders.json restart.yaml --restore-rate 5000/s"),
        ),
        "compare": CommandHelp(
            "Compare settings, assignors or scenarios",
            "Simulates a group under each of them and shows the results side by side; also compares saved plans.",
            (
                "compare orders.json --vary max.warmup.replicas=2,4,8",
                "compare orders.json --add 2 --vary assignor=high-availability,balanced",
                "compare before.plan.json after.plan.json",
            ),
        ),
        "drain": CommandHelp(
            "Tell whether instances may stop for good",
            "Shows which of their tasks would start cold or pause, now and after waiting.",
            ("drain orders.json orders-4", "drain orders.json orders-4 --metrics scrapes --require-warm"),
        ),
        "why": CommandHelp(
            "Explain why a group still probes",
            "Also explains why a task moves, and why an instance gets nothing.",
            ("why orders.json", "why orders.json --task 0_2", "why orders.json --instance orders-4"),
        ),
        "bounce": CommandHelp(
            "Find a safe way to restart instances",
            "Answers for one instance, or compares the ways to restart all. Exit code 3: no way is safe.",
            (
                "bounce orders.json",
                "bounce orders.json --instance orders-4",
                "bounce orders.json --restart 60s --out restart.yaml",
            ),
        ),
        "check": CommandHelp(
            "Check a change against a policy, as in CI",
            "Takes saved plans, and snapshots to plan first. Exit code 3: a rule is violated.",
            (
                "check orders.json --to 5 --policy policy.yaml",
                "check plan.json --policy policy.yaml --report junit=report.xml",
            ),
        ),
        "show": CommandHelp(
            "Show a saved plan",
            "Plans are saved by --out and by --output json.",
            ("show plan.json", "show plan.json --round 3", "show plan.json --task 1_4"),
        ),
        "fleet": CommandHelp(
            "Show many applications, the worst first",
            "Takes results of --set out.format, saved plans, and snapshots to plan first.",
            ("fleet results", "fleet snapshots --where 'cold > 0' --set top=20"),
        ),
        "history": CommandHelp(
            "Show lags over time, by instance and task",
            "Shows which instances fall behind, and which tasks are written to most.",
            ("history lags", "history lags/date=2026-11-* --set over=7d --application-id orders"),
        ),
        "diff": CommandHelp(
            "Show what changed, what it cost, and why",
            "Compares two generations of a group, two plans, or a plan with what happened.",
            ("diff before.json after.json", "diff history.jsonl --from 7 --to 9", "diff plan.json history.jsonl"),
        ),
        "upgrade": CommandHelp(
            "Show the steps to another protocol",
            "From eager to cooperative, to a streams group, or of Connect workers to sessioned.",
            (
                "upgrade orders.json --to cooperative",
                "upgrade orders.json --to streams --set broker.version=4.3 --restore-rate 5000/s",
            ),
        ),
        "snapshot": CommandHelp(
            "Make a snapshot from logs or a cluster",
            "Reads logs of all instances or workers, plain or gzip, or asks the brokers. A file's KIND, which its "
            "content tells as a rule, is leader-log, connect-log, connect-status (JSON of GET "
            "/connectors?expand=status&expand=info) or describe-text (kafka-streams-groups.sh --describe: --members, "
            "--state and --offsets, best --verbose).",
            (
                "snapshot orders.log --streams-config app.properties --out orders.json",
                "snapshot orders.log --list",
                "snapshot --bootstrap-server broker:9092 --group orders --topology topology.txt",
            ),
        ),
        "follow": CommandHelp(
            "Follow a running group beside its plan",
            "Shows each rebalance as it comes, what restores, and when the group will have settled. Exit code 3: it "
            "went otherwise than planned.",
            (
                "follow plan.json --bootstrap-server broker:9092 --group orders",
                "follow plan.json --leader-log orders.log",
            ),
        ),
        "wait": CommandHelp(
            "Wait until a running group is ready",
            "Ends with exit code 0 once it is proven: that the group has settled, its copies have caught up, or "
            "instances may restart or stop. Exit code 6: --give-up-after is over.",
            (
                "wait settled --bootstrap-server broker:9092 --group orders",
                "wait safe-to-restart orders-4 --leader-log orders.log --metrics scrapes",
            ),
        ),
        "export-target": CommandHelp(
            "Write a plan as a file that is followed",
            "An application that brings the class PlanTaskAssignor follows it. Exit code 3: it must not be, and why.",
            (
                "export-target plan.json --by tag:pod --set expires.in=2h --out target.properties",
                "export-target --stay orders.json --by tag:pod --out target.properties",
            ),
        ),
        "check-target": CommandHelp(
            "Tell whether a target file would count",
            "Takes the group as a snapshot has it. Exit code 3: it would not, and why.",
            (
                "check-target target.properties orders.json",
                "check-target target.properties -",
            ),
        ),
        "plugin": CommandHelp(
            "Write the class that runs plans as planned",
            "The Maven project of a task assignor for Kafka Streams 3.8 and later, with which an application follows a "
            "target file.",
            ("plugin --out plan-task-assignor", "plugin --out ."),
        ),
        "prepare": CommandHelp(
            "Make first runs as quick as later ones",
            "Archives Java's classes and compiles Python's modules: for images, CI and new machines. Takes a minute.",
            ("prepare",),
        ),
        "schema": CommandHelp(
            "Print the JSON Schema of a kind of file",
            "Of files that are written (plan and more) or read (snapshot and more).",
            ("schema snapshot", "schema plan"),
        ),
        "help": CommandHelp(
            "Explain a word, a message or a question",
            "Lists the pages by question, shows one, or finds the answer to words.",
            ("help", "help warm-now", "help probing end"),
        ),
    }
)

#: The commands that read no file of defaults: they help where it is wrong.
WITHOUT_FILE = ("plugin", "prepare", "schema", "help")
#: The commands that most people want, in the order in which they are needed.
MOST_WANTED = ("snapshot", "assign", "simulate-scaleout", "bounce", "drain", "check", "why", "diff")


def first_steps() -> str:
    """Return what is shown where no command is given: usage, the usual commands, and where the rest is."""
    width = max(map(len, MOST_WANTED))
    usual = "\n".join(f"  {name:{width}}  {COMMANDS[name].summary}" for name in MOST_WANTED)
    return f"""\
Usage: kstream-plan COMMAND [OPTIONS] ...

See what a rebalance will do before you deploy.

Usual commands:
{usual}

All commands:       kstream-plan --help
One of them:        kstream-plan assign --help
Pages by question:  kstream-plan help
A word, a message:  kstream-plan help warm-up
"""
