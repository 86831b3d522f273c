"""Names are nouns for values and verbs for functions: no preposition, pronoun or bare participle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "kstream_plan"
FILES = sorted(PACKAGE.rglob("*.py"))
#: In these every name; elsewhere those of parameters and variables, for fields may be keys of documents.
WHOLE = [path for path in FILES if path.relative_to(PACKAGE).parts[0] in ("render", "cli")]
_PLACES = (
    "of at by to after before over below above beyond beside between behind near since until without about aside "
    "ago then when where here there again alone also elsewhere meanwhile afterwards beforehand otherwise never "
    "together twice often soon for on with from as off out up under within how why tell talk say"
)
_PRONOUNS = (
    "one what who whom which whose each other others all both some several few many more nothing nobody everyone "
    "everything something ours own it its this that those these they nowhere any"
)
_PARTICIPLES = (
    "found told asked given said left held made shown known taken kept seen heard come came gone drawn played done "
    "sent listed chosen picked wanted called named measured counted checked compared drained saved fixed settled "
    "joined started written folded fenced accepted broken queued restored assigned answered ordered encodable "
    "escaped expected filled foretold had happened hidden isolated led loaded lost mended moved needed noticed "
    "numbered overlaid paged parsed passed planned ran refused registered rendered revoked sealed shared shortened "
    "simulated stopped unassigned undecided unheard unsettled unused unwritten unrun varied waived warned withheld "
    "worked decided bounced paused extended cured begun changed telling doing waiting going standing covering "
    "counting completing following foretelling joining leaving lacking missing probing replacing ending warming "
    "prepared collected focused spoken dumped sorted_ selected"
)
BANNED = frozenset(f"{_PLACES} {_PRONOUNS} {_PARTICIPLES}".split())
#: The function of a command is called as the command, and the fields of its options as the options.
_EXEMPT = {"why", "__all__"}
#: Parameters that callers of the package name, and those that are named as the fields they set.
_PUBLIC = {
    ("__init__.py", "what"),
    ("documents/scenario_file.py", "where"),
    ("errors.py", "what"),
    ("errors.py", "where"),
    ("model/state.py", "revoked"),
    ("model/state.py", "waiting"),
    ("plans/result.py", "simulated"),
    ("simulation/alternatives.py", "saved"),
    ("simulation/cures.py", "checked"),
    ("simulation/scale_out.py", "to"),
    ("simulation/target_export.py", "where"),
    ("snapshots/broker/source.py", "wanted"),
    ("snapshots/broker/topology_text.py", "where"),
    ("snapshots/metrics/overlay.py", "measured"),
    ("snapshots/reading.py", "measured"),
    ("snapshots/reading.py", "meanwhile"),
    ("snapshots/reading.py", "then"),
}


def _names(tree: ast.AST, *, fields: bool = True) -> Iterator[tuple[int, str]]:
    """Yield what a piece of code names itself, with its line; ``fields``: what its classes declare, too."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()):
                if fields or not isinstance(tree, ast.AnnAssign):
                    yield node.lineno, name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield node.lineno, name
        inner = fields and not (isinstance(node, ast.ClassDef) and node.name.endswith("Options"))
        yield from _names(node, fields=inner)


def _banned(tree: ast.AST, *, of_options: bool = False) -> list[tuple[int, str]]:
    names = _names(tree, fields=not of_options)
    return [(line, name) for line, name in names if name not in _EXEMPT and name.strip("_") in BANNED]


def _variables(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the parameters and variables of functions, with their lines; ``other`` is what one is compared with."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            for node in ast.walk(function):
                match node:
                    case ast.arg(arg=name) if name != "other":
                        yield node.lineno, name
                    case ast.Name(id=name, ctx=ast.Store()):
                        yield node.lineno, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_variables_are_nouns(path: Path) -> None:
    file, tree = path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
    names = {(line, name) for line, name in _variables(tree) if (file, name) not in _PUBLIC}
    assert [(line, name) for line, name in sorted(names) if name not in _EXEMPT and name.strip("_") in BANNED] == []


def test_exceptions_are_still_there() -> None:
    for file, name in _PUBLIC:
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        assert name in {found for _, found in _variables(tree)}, (file, name)


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_names_are_nouns_and_verbs(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert _banned(tree, of_options=path.parent.name == "options") == []


def test_the_check_sees_every_way_to_name_something() -> None:
    code = (
        "def told(of):\n"
        "    found = [one for one in of]\n"
        "    self.kept = lambda what: what\n"
        "class Shown:\n"
        "    who: str\n"
        "class ShownOptions:\n"
        "    out: str\n"
        "with open() as left: pass\n"
        "if (seen := 1): pass\n"
    )
    names = [name for _, name in _banned(ast.parse(code))]
    assert sorted(names) == ["found", "kept", "left", "of", "one", "seen", "told", "what", "who"]
