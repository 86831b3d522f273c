"""Two or three command lines of every command, with which its help begins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: By command, without the program's name.
EXAMPLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "assign": (
            "assign orders.json",
            "assign orders.json --restore-rate 5000/s --max-warmup-replicas 4 --out plan.json",
        ),
        "simulate-scaleout": (
            "simulate-scaleout orders.json --add 2 --restore-rate 5000/s",
            "simulate-scaleout orders.json --remove orders-4",
        ),
        "simulate": ("simulate orders.json scenario.yaml", "simulate orders.json restart.yaml --restore-rate 5000/s"),
        "compare": (
            "compare orders.json --vary max.warmup.replicas=2,4,8",
            "compare orders.json --add 2 --vary assignor=high-availability,balanced",
            "compare before.plan.json after.plan.json",
        ),
        "drain": ("drain orders.json orders-4", "drain orders.json orders-4 --metrics scrapes --require-warm"),
        "why": ("why orders.json", "why orders.json --task 0_2", "why orders.json --instance orders-4"),
        "bounce": (
            "bounce orders.json",
            "bounce orders.json --instance orders-4",
            "bounce orders.json --restart 60s --out restart.yaml",
        ),
        "check": (
            "check orders.json --to 5 --policy policy.yaml",
            "check plan.json --policy policy.yaml --report junit=report.xml",
        ),
        "show": ("show plan.json", "show plan.json --round 3", "show plan.json --task 1_4"),
        "fleet": ("fleet results", "fleet snapshots --where 'cold > 0' --top 20"),
        "history": ("history lags", "history lags/date=2026-11-* --over 7d --application-id orders"),
        "diff": ("diff before.json after.json", "diff history.jsonl --from 7 --to 9", "diff plan.json history.jsonl"),
        "upgrade": (
            "upgrade orders.json --to cooperative",
            "upgrade orders.json --to streams --broker-version 4.3 --add 2 --restore-rate 5000/s",
        ),
        "snapshot": (
            "snapshot --leader-log orders.log --streams-config app.properties --out orders.json",
            "snapshot --leader-log orders.log --list",
            "snapshot --bootstrap-server broker:9092 --group orders --topology topology.txt",
        ),
        "schema": ("schema snapshot", "schema plan"),
        "help": ("help", "help warm-now", "help probing end"),
    }
)


def with_examples(name: str, said: str) -> str:
    """Return what is ``said`` of a command, and its examples below, which are not to be wrapped."""
    lines = "\n".join(f"  kstream-plan {example}" for example in EXAMPLES.get(name, ()))
    return f"{said.strip()}\n\n\b\n{lines}" if lines else said
