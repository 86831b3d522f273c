"""Settings that stand scattered in a text, and in HOCON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.hocon import parse_hocon
from kstream_plan.documents.java_properties import UnknownValue
from kstream_plan.documents.settings_in_text import settings_in_text

NAMES = st.from_regex(r"[a-z]{1,6}(\.[a-z]{1,6}){1,3}", fullmatch=True)
VALUES = st.integers(0, 10**9)
FORMS = [
    'p.put("{name}", {value});',
    "p.setProperty('{name}', \"{value}\")",
    'this["{name}"] = {value}',
    '"{name}" to {value},',
    '"{name}" -> "{value}",',
    "java -D{name}={value} -jar a.jar",
    "SET '{name}' = '{value}';",
    "put(StreamsConfig.{constant}_CONFIG, {value}L);",
    "put(consumerPrefix({constant}_CONFIG),\n    {value})",
    "docker run -e {constant}={value} image",
    "ENV {constant}={value} \\",
    'Environment="{constant}={value}"',
    '{{ name = "{constant}", value = "{value}" }},',
]


@given(st.lists(st.tuples(st.sampled_from(FORMS), NAMES, VALUES), min_size=1, max_size=6))
def test_each_form_gives_its_name_its_value_and_its_line(parts: list[tuple[str, str, int]]) -> None:
    text, expected = "", []
    for form, name, value in parts:
        constant = name.upper().replace(".", "_")
        written = name if "{name}" in form else constant
        written = name if "_CONFIG" in form else written
        expected.append((("consumer." if "Prefix" in form else "") + written, str(value), text.count("\n") + 1))
        text += form.format(name=name, constant=constant, value=value) + "\n"
    assert [(each.name, each.value, each.line) for each in settings_in_text(text)] == expected


@pytest.mark.parametrize(("text", "value"), [("10 * 60 * 1_000", "600000"), ("30_000L", "30000"), ('"5"', "5")])
def test_products_and_java_numbers_are_values(text: str, value: str) -> None:
    (setting,) = settings_in_text(f"p.put(PROBING_REBALANCE_INTERVAL_MS_CONFIG, {text});")
    assert setting.value == value


def test_an_expression_is_unknown_and_a_comment_is_nothing() -> None:
    (setting,) = settings_in_text('// put("a.b", 1)\n/* put("c.d", 2) */\nput("e.f", conf.get(1));\n')
    assert (setting.name, setting.line) == ("e.f", 3)
    assert setting.value == UnknownValue("what conf.get(1) is", "write the value itself")


@given(st.text(alphabet='ab."=:{}[]\n/#$ ,\\1', max_size=60))
def test_any_text_is_read_as_hocon(text: str) -> None:
    parse_hocon(text)
    settings_in_text(text)


def test_hocon_nests_lists_and_quotes() -> None:
    text = 'a {\n b.c = "x # y" // z\n d : [1, "2",\n 3]\n "e.f" += 4\n}\ng=${?H}'
    assert [(each.name, each.value, each.line) for each in parse_hocon(text)] == [
        ("a.b.c", "x # y", 2),
        ("a.d", ["1", "2", "3"], 3),
        ("a.e.f", "4", 5),
        ("g", "${?H}", 7),
    ]


TABLES = [
    "| Setting | Value |\n|---|---|\n| `max.warmup.replicas` | 6 |\n",
    "| Setting | Default | Value |\n|---|---|---|\n| **max.warmup.replicas** | 2 | 6 |\n",
    "max.warmup.replicas\t6\n",
    "+---+---+\n| max.warmup.replicas | 6 |\n+---+---+\n",
    "max.warmup.replicas     6\nnum.standby.replicas    1\n",
    "<table><tr><td>max.warmup.replicas</td><td>6</td></tr></table>",
]


@pytest.mark.parametrize("text", TABLES)
def test_a_table_gives_its_values(text: str) -> None:
    assert settings_in_text(text)[0][:2] == ("max.warmup.replicas", "6")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("| Setting | Default | Prod |\n| max.warmup.replicas | 2 | 6 |\n", "a table of several columns"),
        ("| a.b | 1 |\n\n| a.b | 2 |\n", "two tables that differ"),
    ],
)
def test_which_value_of_a_table_counts_may_be_unknown(text: str, source: str) -> None:
    value = settings_in_text(text)[-1].value
    assert isinstance(value, UnknownValue)
    assert value.source == source


@pytest.mark.parametrize(
    "text",
    [
        "p.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, Integer.valueOf(1));",
        "p.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1: java.lang.Integer)",
        "p.put(NUM_STANDBY_REPLICAS_CONFIG, 1: Integer)",
        "[(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG): 1]",
        'Map.of("num.standby.replicas", Integer.toString(1))',
    ],
)
def test_a_number_may_be_boxed_or_typed(text: str) -> None:
    assert [(setting.key, setting.value) for setting in settings_in_text(text)] == [("num_standby_replicas", "1")]


@pytest.mark.parametrize("value", ["3 * n", "1 + extra", "Integer.valueOf(1) + extra", "60 * 1000 * minutes", "4 - 1"])
def test_a_number_that_is_a_part_of_an_expression_is_unknown(value: str) -> None:
    (setting,) = settings_in_text(f'p.put("num.standby.replicas", {value});')
    assert isinstance(setting.value, UnknownValue)


def test_a_number_before_an_option_is_whole() -> None:
    settings = settings_in_text("docker run -e STREAMS_NUM_STANDBY_REPLICAS=1 -e STREAMS_MAX_WARMUP_REPLICAS=6 a")
    assert [setting.value for setting in settings] == ["1", "6"]
