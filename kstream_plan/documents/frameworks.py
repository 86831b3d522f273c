"""Frameworks and images that take Kafka's settings under names of their own, and which setting a name then means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.documents.java_properties import Setting
from kstream_plan.errors import ConfigError

#: Clients whose settings are not those of the group's members.
_OTHER_CLIENTS = frozenset({"RESTORE", "GLOBAL", "ADMIN", "PRODUCER", "ZOOKEEPER"})
_NO_LETTERS = re.compile(r"[^A-Za-z0-9]+")
#: Where a word begins in ``numStandbyReplicas``, which is none of Kafka's names.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAME_OF_USER = "[A-Z0-9_]+?"
#: Of Quarkus: it counts where no other profile is said, and beats the plain name.
_PROFILE_OF_PRODUCTION = "%prod."


class Framework(NamedTuple):
    """A way to write Kafka's settings.

    name: of the framework or image.
    prefix: what stands before Kafka's name; ``*`` stands for a name of the user's. In the environment it is in
        capitals, with ``_`` for all else.
    source: where its authors say so.
    """

    name: str
    prefix: str
    source: str


_SPRING = "Spring Boot reference, Messaging: Apache Kafka Support"
_CLOUD = "Spring Cloud Stream reference, Kafka Streams Binder: Configuration Options"
#: Of a setting given under several prefixes the last of these counts; under none it is the weakest.
FRAMEWORKS = (
    Framework("an application's own prefix", "streams.", ""),
    Framework("Spring Boot, of all clients", "spring.kafka.properties.", _SPRING),
    Framework("Spring Boot", "spring.kafka.streams.properties.", _SPRING),
    Framework("Spring Cloud Stream", "spring.cloud.stream.kafka.streams.binder.configuration.", _CLOUD),
    Framework(
        "Spring Cloud Stream, of a function",
        "spring.cloud.stream.kafka.streams.binder.functions.*.configuration.",
        _CLOUD,
    ),
    Framework("Quarkus", "kafka-streams.", "Quarkus guide, Using Apache Kafka Streams"),
    Framework("Micronaut", "kafka.streams.*.", "Micronaut Kafka guide, Kafka Streams"),
    Framework("ksqlDB", "ksql.streams.", "ksqlDB reference, Server configuration"),
    Framework("Confluent's image of ksqlDB", "ksql.ksql.streams.", "Confluent, Docker Configuration Parameters"),
    Framework("images of Connect (Confluent, Debezium)", "connect.", "Confluent, Docker Configuration Parameters"),
)


class PlainSettings(NamedTuple):
    """Settings by Kafka's own names.

    settings: in the order in which they count, the last of a name after the others; ``known_as`` is Kafka's name.
    ignored: those that are known and stand under a prefix that is not.
    warnings: a sentence for each that is known and does not count.
    """

    settings: Sequence[Setting]
    ignored: Sequence[Setting]
    warnings: Sequence[str]


def plain_settings(settings: Sequence[Setting], known: Collection[str], where: str) -> PlainSettings:
    """Find out which of Kafka's settings each name means, with or without a framework's prefix.

    ``known`` has the names that matter, with ``_`` for ``.``; all others are left as they are written.

    Raises:
        ConfigError: two services, containers or inner files give a setting two values.
    """
    names = {_normal(name): name for name in known}
    has_own_prefix = any(_is_of_application(setting.name, names) for setting in settings)
    own_prefixes = _clusters(settings)
    ranked: list[tuple[int, Setting]] = []
    ignored: list[Setting] = []
    for setting in settings:
        profile = setting.name.startswith(_PROFILE_OF_PRODUCTION)
        written = setting.name.removeprefix(_PROFILE_OF_PRODUCTION)
        rank, name = _meaning(written, names, own_prefixes, has_own_prefix=has_own_prefix)
        if rank is None:
            ignored.append(setting._replace(known_as=name))
        else:
            rank += len(FRAMEWORKS) + 1 if profile else 0
            ranked.append((rank, setting._replace(known_as=name) if name else setting))
    ranked.sort(key=lambda pair: pair[0])
    plain = [setting for _, setting in ranked]
    warnings = [
        f"{where}, line {setting.line}: {setting.name} is ignored: no framework that is known writes "
        f"{kafka_name(setting.key)} so"
        for setting in ignored
    ]
    return PlainSettings(plain, ignored, (*warnings, *_overshadowed(plain, where)))


def kafka_name(name: str) -> str:
    """Return Kafka's spelling of a setting: dots, but for the two costs, which Kafka writes with ``_``."""
    dotted = name.replace("_", ".")
    return dotted.replace("traffic.cost", "traffic_cost").replace("non.overlap.cost", "non_overlap_cost")


def _meaning(
    written: str, names: Mapping[str, str], own_prefixes: Collection[str], *, has_own_prefix: bool
) -> tuple[int | None, str]:
    """Return the rank of a name's prefix and what follows it, ``""`` if that is not known.

    The rank is ``None`` where a known name follows a prefix that nobody is known to write.
    """
    normal = _normal(written)
    if normal in names and not (has_own_prefix and normal.startswith("STREAMS_")):
        return 0, names[normal]
    endings = list(_endings(normal, names))
    if not endings and (in_words := _normal(_HUMP.sub("_", written))) != normal:
        name = next((name for _, name in _endings(f"X_{in_words}", names)), "")
        return (None, name) if name else (0, "")
    if not endings or endings[0][0].rpartition("_")[2] in _OTHER_CLIENTS:
        return 0, ""
    for prefix, name in endings:
        if prefix in own_prefixes:
            return 1, name
        rank = next((rank for rank, pattern in _PATTERNS if pattern.fullmatch(prefix)), None)
        if rank is not None:
            return rank, name
    return None, endings[0][1]


def _endings(normal: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what stands before a known name that ends this one, and the name; the longest name first."""
    parts = normal.split("_")
    for start in range(1, len(parts)):
        if (name := names.get("_".join(parts[start:]))) is not None:
            yield "_".join(parts[:start]), name


def _is_of_application(written: str, names: Mapping[str, str]) -> bool:
    """Tell whether ``streams.`` is an application's own prefix in a name: a streams group has no such setting."""
    normal = _normal(written)
    if not normal.startswith("STREAMS_"):
        return False
    rest = normal.removeprefix("STREAMS_")
    return rest == "APPLICATION_ID" or (rest in names and (normal not in names or written.isupper()))


def _clusters(settings: Sequence[Setting]) -> Collection[str]:
    """Return the clusters of MirrorMaker's file, under whose names its groups' settings stand."""
    values = [setting.value for setting in settings if setting.name == "clusters"]
    return {_normal(name) for value in values if isinstance(value, str) for name in value.split(",")}


def _overshadowed(settings: Sequence[Setting], where: str) -> Iterator[str]:
    """Yield a warning for each setting that is given again under another prefix with another value."""
    last = {setting.key: setting for setting in settings}
    for setting in settings:
        winner = last[setting.key]
        if setting.known_as and setting.value != winner.value and setting.part != winner.part:
            message = (
                f"{kafka_name(setting.key)} is {setting.value!r} in {setting.part or 'the file'} (line {setting.line}) "
                f"and {winner.value!r} in {winner.part or 'the file'} (line {winner.line})"
            )
            raise ConfigError(message, where=where, fix="leave one of them in the file")
        if setting.name != winner.name and setting.value != winner.value and setting.known_as:
            yield f"{where}, line {setting.line}: {setting.name} is ignored: {winner.name} counts"


def identifies(setting: Setting, names: Collection[str]) -> bool:
    """Tell whether a setting is one of these, with ``_`` for ``.``, under whatever prefix."""
    return any(f"_{_normal(setting.name)}".endswith(f"_{_normal(name)}") for name in names)


def _normal(name: str) -> str:
    return _NO_LETTERS.sub("_", name).strip("_").upper()


def _pattern(prefix: str) -> re.Pattern[str]:
    parts = (_NAME_OF_USER if part == "*" else _normal(part) for part in prefix.rstrip(".").split("."))
    return re.compile("_".join(parts))


_PATTERNS = tuple((rank, _pattern(framework.prefix)) for rank, framework in enumerate(FRAMEWORKS, start=1))
