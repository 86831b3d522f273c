"""Which section of which page answers a question, and where in it: full-text search of SQLite, ranked by BM25."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from kstream_plan.errors import UsageError
from kstream_plan.pages.sections import Section

#: How much it counts what a page is asked, what a section is called, asked and has in bold, and what it says.
_ASKED, _CALLED, _SAID = 3.0, 2.0, 1.0
#: Pages to look something up in: they have the words of all others, and count less; so does what no release has.
_LOOKED_UP = frozenset(
    {"commands", "connect-rules", "learner-rules", "learner-tasks", "rules", "schema", "streams-rules", "terms"}
)
_LESS = 0.7
#: Words that are rare where pages say in short what they are asked, and say nothing of it.
_FILLERS = frozenset(
    """
    a am an and are as at be been by can could did do does for from get gets got had has have here i in is it its may me
    might must my no not of on or our should so that the there those to us was we will with would you your
    """.split()  # noqa: SIM905 - a line a word is no easier to read
)
#: So many words of a question at most: a whole stack trace may be pasted.
_MOST = 200
#: So many words in a row are looked for together as well: a line of a log that is pasted is found by them.
_ROW = 4
_WORD = re.compile(r"\w+")
#: A name of several words, such as ``max.warmup.replicas``, which is looked for whole as well.
_NAME = re.compile(r"\w+(?:[.-]\w+)+")
#: A word or a name of a question: letters, with signs between them.
_TOKEN = re.compile(r"\w+(?:[.-]\w+)*")
_TARGET = re.compile(r"\]\([^)\s]+\)")
_CAMEL = re.compile(r"\b\w*[a-z0-9][A-Z]\w*\b")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Search:
    """The sections of all pages, to be asked.

    What pages are asked, what sections are called and what they say are a table each: a word is as rare, and a text as
    long, as it is among its like.
    """

    def __init__(self, sections: Sequence[Section]) -> None:
        """Take the sections, those of a page one after the other, its beginning first."""
        self._sections = sections
        self._begins = [section for section in sections if not section.heading]
        self._passages = [(section, place) for section in sections for place in section.lead_places]
        self._tables = sqlite3.connect(":memory:")
        self._fill(
            "asked",
            (" ".join([section.page, section.title, *section.asks, section.related_text]) for section in self._begins),
        )
        self._fill(
            "called",
            (" ".join([section.heading, *section.asks, section.related_text, *section.bold]) for section in sections),
        )
        self._fill("said", ("\n".join(section.passages) for section in sections))
        self._fill("passage", (_passage(section, place) for section, place in self._passages))

    def _fill(self, table: str, texts: Iterable[str]) -> None:
        try:
            # porter: restarts, restarted and restarting are one word
            self._tables.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(text, tokenize = 'porter')")
        except sqlite3.DatabaseError as error:
            fix = "kstream-plan help lists the pages by question"
            raise UsageError("the SQLite of this Python has no full-text search (FTS5)", fix=fix) from error
        rows = ((row, _speak(text)) for row, text in enumerate(texts))
        self._tables.executemany(f"INSERT INTO {table}(rowid, text) VALUES (?, ?)", rows)

    def _fits(self, table: str, question: str) -> dict[int, float]:
        """Return how well the texts fit that have a word of it."""
        query = f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ?"
        return dict(self._tables.execute(query, (_any_word(question),)))

    def best(self, question: str) -> list[tuple[Section, float]]:
        """Return the sections that have a word of it, one of each page, the best first, with how well they fit."""
        by_question = {self._begins[row].page: fit for row, fit in self._fits("asked", question).items()}
        by_heading, by_text = self._fits("called", question), self._fits("said", question)
        fits = [
            (_ASKED * by_question.get(section.page, 0) + _CALLED * by_heading.get(row, 0) + _SAID * by_text.get(row, 0))
            * (_LESS if section.page in _LOOKED_UP else 1)
            for row, section in enumerate(self._sections)
        ]
        matches: dict[str, tuple[Section, float]] = {}
        for row in sorted(range(len(fits)), key=lambda row: (-fits[row], row)):
            if fits[row] > 0:
                matches.setdefault(self._sections[row].page, (self._sections[row], fits[row]))
        return list(matches.values())

    def unknown(self, question: str) -> list[str]:
        """Return the words of a question, names whole, that no section has."""
        words = [word for word in _TOKEN.findall(question)[:_MOST] if word.lower() not in _FILLERS]
        tables = ("asked", "called", "said")
        return [word for word in words if not any(self._has(table, _speak(word)) for table in tables)]

    def _has(self, table: str, word: str) -> bool:
        query = f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1"
        return bool(self._tables.execute(query, (f'"{word}"',)).fetchone())

    def similar_words(self, word: str) -> list[str]:
        """Return words and names of the sections that are written almost like this one, the nearest first."""
        texts = (text for section in self._sections for text in (section.page, section.heading, *section.passages))
        names = {name.lower() for text in texts for name in _TOKEN.findall(_TARGET.sub("]", text))}
        return get_close_matches(word.lower(), sorted(names), n=3, cutoff=0.8)

    def passage(self, section: Section, question: str) -> int:
        """Return which of the passages of a section answers best; of those that do so alike the first."""
        fits = ((-fit, *self._passages[row]) for row, fit in self._fits("passage", question).items())
        return min(((fit, place) for fit, owner, place in fits if owner == section), default=(0.0, 0))[1]


def _passage(section: Section, place: int) -> str:
    """Return what a passage is found by: what a section says first answers what it is asked."""
    asks = section.asks if place == section.lead_places[0] else []
    return "\n".join([*asks, section.passages[place]])


def _any_word(question: str) -> str:
    """Return what SQLite looks for: any of the words, of the names whole, and of the rows of words."""
    words = _WORD.findall(question)[:_MOST]
    rows = [" ".join(words[start : start + _ROW]) for start in range(len(words) - _ROW + 1)]
    words_of_question = _WORD.findall(_speak(question))[:_MOST]
    significant_words = [word for word in words_of_question if word.lower() not in _FILLERS]
    phrases = [*(significant_words or words_of_question), *_NAME.findall(question)[:_MOST], *rows]
    return " OR ".join(f'"{phrase}"' for phrase in dict.fromkeys(phrases)) or '""'


def _speak(text: str) -> str:
    """Return it without the targets of links, and names in CamelCase also as the words that they are made of."""
    return _CAMEL.sub(lambda name: f"{name[0]} {_HUMP.sub(' ', name[0])}", _TARGET.sub("]", text))
