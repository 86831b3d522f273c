"""The words of pages and of questions, so that those that mean the same are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

#: Several words that are one, in pages and in questions: what they look like, and what they are.
_PHRASES = tuple(
    (re.compile(rf"\b(?:{written})\b"), word)
    for written, word in (
        (r"scal(?:e|es|ed|ing)[- ](?:out|up)", "scaleout"),
        (r"scal(?:e|es|ed|ing)[- ](?:in|down)", "scalein"),
        (r"roll(?:s|ed|ing)?[- ]?outs?", "deploy"),
        (r"(?:kill(?:s|ed|ing)?|sigkill) ?-9", "kill"),
        (r"time[- ]outs?", "timeout"),
        (r"st(?:and|ands|ood|anding)[- ]?still", "standstill"),
        (r"take[sn]?[- ]over|took over|fail[- ]over", "takeover"),
        (r"side by side|beside each other", "beside"),
        (r"back and forth|to and fro|ping[- ]pong", "jump"),
        (r"out of memory|outofmemory\w*|oom\w*", "oom"),
        (r"air[- ]gapped", "offline"),
        (r"left[- ]over", "leftover"),
        (r"two instances|two pods|two members", "two instances"),
        (r"pull[- ]requests?|merge[- ]requests?", "pullrequest"),
        (r"github actions?", "github"),
        (r"exactly[- ]once", "eos"),
        (r"post[- ]?mortem", "postmortem"),
        (r"get started|getting started|first steps|try it out", "begin"),
    )
)

#: Words that say nothing of what is asked.
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all am an and any anybody anything are as at be been but by can cannot could did do does doing
        done ever every for from get gets give gives got had happens has have he her here him his how i if in into is
        it its just let made make may me might mean means much must my need no not now of on one ones only or our
        please really right run running runs s say see shall she should since so some somebody something such t take
        takes than that the their them then there these they this those to too tool until up us use used using very
        want was way we were what when where which while who whole whose why will with would you your
        """,
    )
)

#: Words that ask for the same; a page that has another of them fits as well, a little less.
_ALIKE = (
    "instance pod member vm host process container replica",
    "crash kill die dead died oom fail failure lose lost loss",
    "downtime outage pause standstill unavailable",
    "deploy release",
    "plan predict forecast estimate expect",
    "accurate accuracy exact trust reliable sure correct believe differ wrong deviation real",
    "setting config configuration parameter property",
    "network internet offline proxy",
    "disk volume pvc emptydir storage",
    "slow long hours duration",
    "fast faster quick quickly speed shorten",
    "huge large big",
    "application app service",
    "ci pipeline github gitlab jenkins pullrequest gate build",
    "boss manager management stakeholder",
    "example sample demo tutorial",
    "restore restoration rebuild replay",
    "lag behind offset",
    "warm ready caught",
    "several multiple many",
    "format column schema field csv",
    "uneven unbalanced imbalance skew balance",
    "temp tmp temporary",
    "stuck hang endless forever infinite loop storm",
    "jump move flap",
    "zone az rack region datacenter",
    "takeover promote",
    "tune optimize cheapest best better",
    "login password credential sasl kerberos tls",
    "machine laptop",
    "stop shutdown terminate remove",
    "drain evict maintenance",
    "restart bounce reboot",
    "wipe wiped scratch corrupt delete",
    "incoming write written produce traffic",
    "bot parse json script",
    "output print",
    "version supported compatible",
    "spark yarn",
    "block prevent refuse fail",
    "connect worker",
    "add join",
    "cold empty",
)

_WORD = re.compile(r"[a-z0-9]+(?:[._][a-z0-9]+)*|--[a-z][a-z-]*")
_PART = re.compile(r"[a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: What a word ends in without being another one, the longest first, and how many letters have to be before it.
_ENDINGS = (
    *(("ations", 3), ("ation", 3), ("ions", 4), ("ion", 4), ("ings", 3), ("ing", 3), ("ies", 3), ("ied", 3)),
    *(("ates", 3), ("ated", 3), ("ate", 4), ("ers", 4), ("es", 3), ("ed", 3), ("er", 4), ("ly", 4)),
    *(("s", 3), ("e", 3), ("y", 3)),
)


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text in order, each as its stem: names with dots or in CamelCase whole and in parts."""
    plain = _spoken(text)
    for whole in _WORD.findall(plain):
        parts = _PART.findall(whole)
        if len(parts) > 1 or whole.startswith("--"):
            yield whole
        for part in parts:
            if part not in _FILLERS and (len(part) > 1 or part.isdigit()):
                yield stem(part)


def _spoken(text: str) -> str:
    """Return it in small letters, names in CamelCase also as the words that they are made of, phrases as one word."""
    text = re.sub(r"\b\w*[a-z0-9][A-Z]\w*\b", lambda name: f"{name[0]} {_CAMEL.sub(' ', name[0])}", text).lower()
    for phrase, word in _PHRASES:
        text = phrase.sub(word, text)
    return text


@cache
def stem(word: str) -> str:
    """Return a word without its ending: restarts, restarted and restarting are one."""
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            kept = word[: -len(ending)]
            return kept[:-1] if len(kept) > least and kept[-1] == kept[-2] and kept[-1] not in "lse" else kept
    return word


def _groups() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for group in _ALIKE:
        stems = [stem(word) for word in group.split()]
        for one in stems:
            found.setdefault(one, []).extend(other for other in stems if other != one)
    return {one: tuple(dict.fromkeys(others)) for one, others in found.items()}


_GROUPS = _groups()


def alike(word: str) -> tuple[str, ...]:
    """Return the stems that ask for the same as this one."""
    return _GROUPS.get(word, ())
