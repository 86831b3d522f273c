"""Frameworks and images that take Kafka's settings under names of their own, and which setting a name then means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from kstream_plan.documents.java_properties import Setting, UnknownValue
from kstream_plan.errors import ConfigError
from kstream_plan.model.settings import kafka_name

#: Clients whose settings are not those of the group's members.
_OTHER_CLIENTS = frozenset({"RESTORE", "GLOBAL", "ADMIN", "PRODUCER", "ZOOKEEPER"})
_NO_LETTERS = re.compile(r"[^A-Za-z0-9]+")
#: Where a word begins in ``numStandbyReplicas``, which is none of Kafka's names.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAME_OF_USER = "[A-Z0-9_]+?"
#: Of Quarkus and MicroProfile: a setting of these profiles, which beats the plain name where it counts.
_PROFILES = re.compile(r"[\"']?%(?P<names>[\w,-]+)[\"']?\.(?P<name>.+)")
#: The same in the environment.
_PROFILES_IN_CAPITALS = re.compile(r"_(?P<names>[A-Z0-9]+)_(?P<name>KAFKA_STREAMS_.+)")
_PROFILE_THAT_COUNTS = "prod"
#: Where frameworks know every name below: what is not in the table is not read by them.
_CLOSED = re.compile(r"(?:.+_)?(?:SPRING|QUARKUS|MICRONAUT)_.+")
#: Under these names of an application's own settings stand Kafka's.
_OWN_GROUPS = ("", "_PROPERTIES", "_CONFIG", "_CONFIGURATION")
_OWN_RANK = 1


class Framework(NamedTuple):
    """A way to write Kafka's settings.

    name: of the framework or image.
    prefix: what stands before Kafka's name; ``*`` stands for a name of the user's. In the environment it is in
        capitals, with ``_`` for all else.
    source: the page of its authors that says so.
    """

    name: str
    prefix: str
    source: str


_SPRING = "Spring Boot, Apache Kafka Support"
_BOOTSTRAP = "`charts/streams-app/README.md`"
_CLOUD = "Kafka Streams Binder, Configuration Options"
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
    Framework("Quarkus", "kafka-streams.", "Using Apache Kafka Streams"),
    Framework("Micronaut", "kafka.streams.*.", "Micronaut Kafka, Kafka Streams"),
    Framework("charts of streams-bootstrap, 2", "streams.config.", _BOOTSTRAP),
    Framework("charts of streams-bootstrap", "kafka.config.", _BOOTSTRAP),
    Framework("ksqlDB", "ksql.streams.", "Server configuration"),
    Framework("Confluent's image of ksqlDB", "ksql.ksql.streams.", "Docker Configuration Parameters"),
    Framework("images of Connect (Confluent, Debezium)", "connect.", "Docker Configuration Parameters"),
)


_RANK_OF_PROFILE = _OWN_RANK + len(FRAMEWORKS) + 1


class PlainSettings(NamedTuple):
    """Settings by Kafka's own names.

    settings: in the order in which they count, the last of a name after the others; ``known_as`` is Kafka's name.
    ignored: those that are known and stand under a prefix that is not.
    warnings: a sentence for each that is known and does not count.
    """

    settings: Sequence[Setting]
    ignored: Sequence[Setting]
    warnings: Sequence[str]


def plain_settings(
    settings: Sequence[Setting],
    known_names: Collection[str],
    file_name: str,
    identity: str = "application_id",
    other_clients: Collection[str] = (),
) -> PlainSettings:
    """Return which of Kafka's settings each name means, with or without a framework's prefix.

    Args:
        settings: in the order of the file.
        known_names: the names that matter, with ``_`` for ``.``; all others are left as they are written.
        file_name: the file.
        identity: a setting that each application has: what stands before it is a prefix of the application's own.
        other_clients: further words, in capitals, that a client's settings begin with which is not the group's.

    Raises:
        ConfigError: two services, containers, inner files or applications give a setting two values.
    """
    names = {_normal(name): name for name in known_names}
    prefixes = _Prefixes(settings, names, identity, _OTHER_CLIENTS.union(other_clients))
    ranked: list[tuple[int, Setting]] = []
    ignored: list[Setting] = []
    warnings: list[str] = []
    owners = _Owners(file_name)
    owners.note(prefixes.applications())
    for setting in settings:
        profiles, setting_name = _without_profile(setting.name)
        meaning = prefixes.meaning(setting_name)
        if meaning.name and profiles and _PROFILE_THAT_COUNTS not in profiles:
            warnings.append(f"{file_name}, line {setting.line}: {setting.name} is left out: %prod counts")
        elif meaning.rank is None:
            ignored.append(setting._replace(known_as=meaning.name))
        else:
            rank = meaning.rank + (_RANK_OF_PROFILE if profiles else 0)
            owners.add(meaning, setting)
            warnings += _misspelt(setting_name, meaning.name, f"{file_name}, line {setting.line}")
            ranked.append((rank, setting._replace(known_as=meaning.name) if meaning.name else setting))
    owners.check()
    ranked.sort(key=lambda pair: pair[0])
    plain = [setting for _, setting in ranked]
    warnings += [
        f"{file_name}, line {setting.line}: {setting.name} is ignored: no framework that is known writes "
        f"{kafka_name(setting.key)} so"
        for setting in ignored
    ]
    return PlainSettings(plain, ignored, (*warnings, *_overshadowed(plain, file_name)))


def nothing_counts(ignored: Sequence[Setting], file_name: str) -> ConfigError:
    """Return the error that all known settings of a file stand under unknown prefixes."""
    first, plain = ignored[0], kafka_name(ignored[0].key)
    remainder = f", nor {len(ignored) - 1} more" if len(ignored) > 1 else ""
    problem = f"{first.name} does not count{remainder}: no framework that is known writes {plain} so"
    similar_prefixes = difflib.get_close_matches(
        first.name.removesuffix(plain), [framework.prefix for framework in FRAMEWORKS], n=1
    )
    fix = f"write {plain}" + (f", or {similar_prefixes[0]}{plain}" if similar_prefixes else " without a prefix")
    return ConfigError(
        problem, where=f"{file_name}, line {first.line}", fix=f"{fix}; kstream-plan help settings has all"
    )


class _Meaning(NamedTuple):
    """The meaning of a name.

    rank: of its prefix; ``None``: the prefix of a known name is unknown.
    name: Kafka's, ``""`` if it is not known.
    owner: whose setting it is, where a file may hold those of several applications.
    """

    rank: int | None
    name: str
    owner: str = ""


class _Prefixes:
    """The prefixes that count in one file."""

    def __init__(
        self, settings: Sequence[Setting], names: Mapping[str, str], identity: str, other_clients: Collection[str]
    ) -> None:
        self._names = names
        self._other_clients = other_clients
        self._has_own = any(_is_of_application(setting.name, names) for setting in settings)
        own_prefixes = {
            prefix for setting in settings if (prefix := _application_prefix(setting.name, _normal(identity)))
        }
        self._own_prefixes = {
            prefix + group: prefix for prefix in own_prefixes if not _CLOSED.fullmatch(prefix) for group in _OWN_GROUPS
        }
        self._applications = own_prefixes
        self._own_prefixes |= {prefix: prefix for prefix in _clusters(settings)}

    def applications(self) -> Iterator[_Meaning]:
        """Yield the rank and the owner of each prefix under which an application is named."""
        for prefix in self._applications:
            meanings = (self._meaning_under(prefix + group, "") for group in _OWN_GROUPS)
            yield from (meaning for meaning in meanings if meaning is not None)

    def meaning(self, setting_name: str) -> _Meaning:
        """Return the meaning of a name."""
        normal = _normal(setting_name)
        if normal in self._names and not (self._has_own and normal.startswith("STREAMS_")):
            return _Meaning(0, self._names[normal])
        endings = list(_endings(normal, self._names))
        if not endings and (in_words := _normal(_HUMP.sub("_", setting_name))) != normal:
            name = next((name for _, name in _endings(f"X_{in_words}", self._names)), "")
            return _Meaning(None, name) if name else _Meaning(0, "")
        if not endings or endings[0][0].rpartition("_")[2] in self._other_clients:
            return _Meaning(0, "")
        meanings = (self._meaning_under(prefix, name) for prefix, name in endings)
        return next((meaning for meaning in meanings if meaning is not None), _Meaning(None, endings[0][1]))

    def _meaning_under(self, prefix: str, name: str) -> _Meaning | None:
        if prefix in self._own_prefixes:
            return _Meaning(_OWN_RANK, name, self._own_prefixes[prefix])
        for rank, pattern in _patterns():
            if (match := pattern.fullmatch(prefix)) is not None:
                return _Meaning(rank, name, "".join(match.groups()))
        for rank, pattern in _patterns_within():
            match = pattern.fullmatch(prefix)
            if match is not None and (rank in _OF_SPRING or not _CLOSED.fullmatch(prefix)):
                return _Meaning(rank, name, match["outer"])
        return None


class _Owners:
    """Whose settings a file holds, by the prefix that they stand under."""

    def __init__(self, file_name: str) -> None:
        self._file_name = file_name
        self._values: dict[int, dict[str, dict[str, object]]] = {}

    def note(self, applications: Iterator[_Meaning]) -> None:
        """Note applications, whether or not they set anything."""
        for rank, _, owner in applications:
            self._values.setdefault(rank or 0, {}).setdefault(owner, {})

    def add(self, meaning: _Meaning, setting: Setting) -> None:
        """Note a setting that counts."""
        if meaning.name and meaning.rank:
            values = self._values.setdefault(meaning.rank, {}).setdefault(meaning.owner, {})
            values[meaning.name] = setting.value

    def check(self) -> None:
        """Raise an error if several applications stand under one prefix and are set differently."""
        for by_owner in self._values.values():
            if len(by_owner) > 1 and any(values != next(iter(by_owner.values())) for values in by_owner.values()):
                names = ", ".join(owner.lower().replace("_", ".") or "no name" for owner in by_owner)
                message = f"holds settings of several applications: {names}"
                raise ConfigError(message, where=self._file_name, fix="leave those of one in the file")


def _without_profile(name: str) -> tuple[Sequence[str], str]:
    """Return the profiles that a setting is of, and its name without them."""
    match = _PROFILES.fullmatch(name) or _PROFILES_IN_CAPITALS.fullmatch(name)
    return (match["names"].lower().split(","), match["name"]) if match is not None else ((), name)


def _application_prefix(setting_name: str, identity: str) -> str:
    """Return the prefix of the identity setting of an application; ``""``: the name is of another setting."""
    normal = _normal(_HUMP.sub("_", setting_name))
    return normal.removesuffix(f"_{identity}") if normal.endswith(f"_{identity}") else ""


def _endings(normal: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield prefix and known name for each known name that ends this one, the longest name first."""
    parts = normal.split("_")
    for start in range(1, len(parts)):
        if (name := names.get("_".join(parts[start:]))) is not None:
            yield "_".join(parts[:start]), name


def _is_of_application(setting_name: str, names: Mapping[str, str]) -> bool:
    """Tell whether ``streams.`` is an application's own prefix in a name: a streams group has no such setting."""
    normal = _normal(setting_name)
    if not normal.startswith("STREAMS_"):
        return False
    rest = normal.removeprefix("STREAMS_")
    return rest == "APPLICATION_ID" or (rest in names and (normal not in names or setting_name.isupper()))


def _clusters(settings: Sequence[Setting]) -> Collection[str]:
    """Return the clusters of MirrorMaker's file, under whose names its groups' settings stand."""
    values = [setting.value for setting in settings if setting.name == "clusters"]
    return {_normal(name) for value in values if isinstance(value, str) for name in value.split(",")}


def _misspelt(setting_name: str, name: str, place: str) -> Iterator[str]:
    """Yield a warning of a name with dashes or single capitals, which Kafka does not read."""
    spelling = setting_name.rstrip("\"'])")[-len(name) :] if name else ""
    if "-" in spelling or not (spelling.islower() or spelling.isupper() or not spelling):
        yield (
            f"{place}: {setting_name} counts as {kafka_name(name)}, as if the application renamed it: Kafka itself "
            "ignores a name that is spelt so"
        )


def _overshadowed(settings: Sequence[Setting], file_name: str) -> Iterator[str]:
    """Yield a warning for each setting that is given again under another prefix with another value."""
    last = {setting.key: setting for setting in settings}
    for setting in settings:
        winner = last[setting.key]
        if not setting.known_as or setting.value == winner.value or isinstance(setting.value, UnknownValue):
            continue
        if setting.part != winner.part and not isinstance(winner.value, UnknownValue):
            message = (
                f"{kafka_name(setting.key)} is {setting.value!r} in {setting.part or 'the file'} (line {setting.line}) "
                f"and {winner.value!r} in {winner.part or 'the file'} (line {winner.line})"
            )
            raise ConfigError(message, where=file_name, fix="leave one of them in the file")
        if setting.name != winner.name:
            yield f"{file_name}, line {setting.line}: {setting.name} is ignored: {winner.name} counts"


def identifies(setting: Setting, names: Collection[str]) -> bool:
    """Tell whether a setting is one of these, with ``_`` for ``.``, under whatever prefix."""
    normal_name = _normal(_HUMP.sub("_", setting.name))
    return any(f"_{normal_name}".endswith(f"_{_normal(name)}") for name in names)


def _normal(name: str) -> str:
    return _NO_LETTERS.sub("_", name).strip("_").upper()


def _pattern(prefix: str, outer_pattern: str = "") -> re.Pattern[str]:
    parts = (f"({_NAME_OF_USER})" if part == "*" else _normal(part) for part in prefix.rstrip(".").split("."))
    return re.compile(outer_pattern + "_".join(parts))


@cache
def _patterns() -> Sequence[tuple[int, re.Pattern[str]]]:
    return [(rank, _pattern(framework.prefix)) for rank, framework in enumerate(FRAMEWORKS, start=_OWN_RANK + 1)]


@cache
def _patterns_within() -> Sequence[tuple[int, re.Pattern[str]]]:
    """Return those of prefixes so long that what stands before them does not matter.

    That is so in a file that holds several configurations.
    """
    return [
        (rank, _pattern(framework.prefix, "(?P<outer>.+)_"))
        for rank, framework in enumerate(FRAMEWORKS, start=_OWN_RANK + 1)
        if "_" in _normal(framework.prefix.partition("*")[0])
    ]


_OF_SPRING = frozenset(
    rank for rank, framework in enumerate(FRAMEWORKS, start=_OWN_RANK + 1) if framework.prefix.startswith("spring.")
)
