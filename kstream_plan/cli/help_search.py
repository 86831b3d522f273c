"""Which section of which page answers a question, and where in it: BM25 over fields, each with its own weight."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kstream_plan.cli.help_sections import Section
from kstream_plan.cli.help_words import alike, words_of

#: How much it counts what a page is asked, a section is called or asked, says, and its whole page says.
_PAGE_ASKED, _CALLED, _SAYS, _PAGE_SAYS = 0.9, 0.75, 0.3, 0.6
#: What a word counts in bold, in what a command prints, and among the other words for what is asked.
_BOLD, _PRINTED, _ALSO = 2.0, 0.15, 0.7
#: Pages to look something up in: they have words of everything, and another page says what to do.
_LOOKED_UP = frozenset(
    {"commands", "python", "rules", "schema", "terms", "connect-rules", "learner-rules", "streams-rules"}
)
_LESS = 0.5
#: Of BM25: from how many times on a word counts little more, and how much the length of a text does.
_ENOUGH, _LENGTH = 0.7, 0.4
#: A word that asks for the same counts so much, two words that stand beside each other in both so much more.
_ALIKE, _TOGETHER = 0.4, 0.2
#: Three words of a message in bold that are asked for in the same order, as when it is pasted, count so much.
_QUOTED = 4.0
#: So much of how a text fits is by how many of the words it has.
_COVERED = 0.7
#: How many words a passage usually has, pairs among them.
_PASSAGE_WORDS = 60
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_BOLD_TEXT = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Index:
    """How often, weighted, each word stands in each of some texts."""

    texts: Sequence[Mapping[str, float]]
    lengths: Sequence[float]
    held: Mapping[str, int]

    @classmethod
    def of(cls, texts: Sequence[Mapping[str, float]]) -> _Index:
        held = Counter(word for text in texts for word in text)
        return cls(texts, [sum(text.values()) for text in texts], held)

    def fits(self, wanted: Sequence[str]) -> list[float]:
        """Return how well each fits: every word by its rareness, and by how many of the words are there."""
        if not wanted:
            return [0.0] * len(self.texts)
        usual = sum(self.lengths) / max(sum(length > 0 for length in self.lengths), 1)
        worth = {word: self._rareness(word) for word in wanted}
        most = sum(worth.values()) or 1.0
        found = []
        for text, length in zip(self.texts, self.lengths, strict=True):
            slow = _ENOUGH * (1 - _LENGTH + _LENGTH * length / usual)
            parts = {word: self.part(word, text, slow) for word in wanted}
            covered = sum(worth[word] for word, part in parts.items() if part) / most
            found.append(sum(parts.values()) * (1 - _COVERED + _COVERED * covered))
        return found

    def part(self, word: str, text: Mapping[str, float], slow: float) -> float:
        """Return how well a text fits by one word, or by another that asks for the same."""
        asked = [(word, _TOGETHER if " " in word else 1.0), *((other, _ALIKE) for other in alike(word))]
        return max(
            share * min(self._rareness(word), self._rareness(one)) * text[one] * (_ENOUGH + 1) / (text[one] + slow)
            if one in text
            else 0.0
            for one, share in asked
        )

    def _rareness(self, word: str) -> float:
        held = self.held.get(word) or max((self.held.get(other, 0) for other in alike(word)), default=0)
        return math.log(1 + (len(self.texts) - held + 0.5) / (held + 0.5)) if held else 0.0


class Search:
    """The sections of all pages, to be asked."""

    def __init__(self, sections: Sequence[Section]) -> None:
        """Take the sections, those of a page one after the other."""
        self._sections = sections
        pages: dict[str, list[Section]] = {}
        for section in sections:
            pages.setdefault(section.page, []).append(section)
        self._pages = list(pages)
        said = [_said(section) for section in sections]
        by_section = dict(zip(sections, said, strict=True))
        whole = [sum((by_section[section] for section in own), Counter()) for own in pages.values()]
        begins = [own[0] for own in pages.values()]
        self._asked = _Index.of([_counted([of.page, of.title, *of.asks], of.also) for of in begins])
        self._called = _Index.of([_counted([of.heading, *of.asks], of.also) for of in sections])
        self._said, self._page_said = _Index.of(said), _Index.of(whole)
        self._quotes = [_in_a_row(*_BOLD_TEXT.findall(section.text)) for section in sections]

    def best(self, question: str) -> list[tuple[Section, float]]:
        """Return the sections that fit at all, one of each page, the best first, with how well they do."""
        wanted = _asked(question)
        by_page = {
            name: _PAGE_ASKED * asked + _PAGE_SAYS * said
            for name, asked, said in zip(
                self._pages, self._asked.fits(wanted), self._page_said.fits(wanted), strict=True
            )
        }
        fits = [
            (by_page[section.page] + _CALLED * called + _SAYS * said) * (_LESS if section.page in _LOOKED_UP else 1)
            for section, called, said in zip(
                self._sections, self._called.fits(wanted), self._said.fits(wanted), strict=True
            )
        ]
        pasted = _in_a_row(question)
        fits = [fit + _QUOTED * len(quotes & pasted) for fit, quotes in zip(fits, self._quotes, strict=True)]
        found: dict[str, tuple[Section, float]] = {}
        for place in sorted(range(len(fits)), key=lambda place: (-fits[place], place)):
            if fits[place] > 0:
                found.setdefault(self._sections[place].page, (self._sections[place], fits[place]))
        return list(found.values())

    def passage(self, section: Section, question: str) -> int:
        """Return which of the passages of a section answers best; of those that do so alike the first."""
        wanted, pasted = _asked(question), _in_a_row(question)
        fits = []
        for text in section.passages:
            words = Counter(_with_pairs([*words_of(text)]))
            slow = _ENOUGH * (0.7 + 0.3 * sum(words.values()) / _PASSAGE_WORDS)
            quoted = _QUOTED * len(_in_a_row(*_BOLD_TEXT.findall(text)) & pasted)
            fits.append(quoted + sum(self._said.part(word, words, slow) for word in wanted))
        return max(range(len(fits)), key=lambda at: (fits[at], -at), default=0)


def _in_a_row(*texts: str) -> frozenset[tuple[str, ...]]:
    """Return every three words that follow one another, fillers too."""
    words = [_PLAIN_WORD.findall(text.lower()) for text in texts]
    return frozenset(three for of in words for three in zip(of, of[1:], of[2:], strict=False))


def _asked(question: str) -> list[str]:
    """Return the words of a question, each once, and those that stand beside each other as pairs."""
    words = [*words_of(question)]
    return list(dict.fromkeys([*words, *(f"{one} {other}" for one, other in pairwise(words))]))


def _said(section: Section) -> Counter[str]:
    """Return the words of what a section says, what is bold more, what commands print less."""
    words: Counter[str] = Counter()
    for passage in section.passages:
        if passage.lstrip().startswith("```console"):
            lines = passage.splitlines()
            typed = " ".join(line for line in lines if line.startswith(("$ ", "    ")))
            _add(words, typed, 1)
            _add(words, passage, _PRINTED)
        else:
            _add(words, passage, 1)
            _add(words, " ".join(_BOLD_TEXT.findall(passage)), _BOLD - 1)
    return words


def _counted(texts: Sequence[str], also: str) -> Counter[str]:
    words: Counter[str] = Counter()
    for text in texts:
        _add(words, text, 1)
    _add(words, also, _ALSO)
    return words


def _add(words: Counter[str], text: str, weight: float) -> None:
    for word in _with_pairs([*words_of(text)]):
        words[word] += weight  # type: ignore[assignment]


def _with_pairs(words: Sequence[str]) -> Iterable[str]:
    return [*words, *(f"{one} {other}" for one, other in pairwise(words))]
