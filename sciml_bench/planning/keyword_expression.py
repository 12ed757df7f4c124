"""Boolean keyword expressions over a label, as in ``pytest -k``: ``robertson and not (torch or bdf)``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sciml_bench.errors import UsageError

Predicate = Callable[[str], bool]

_TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<word>[\w./:+\-@\[\]]+)|(?P<wrong>\S))")


@dataclass(frozen=True)
class _Token:
    text: str
    column: int


def compile_keyword(text: str) -> Predicate:
    """The predicate of a keyword expression; words match as substrings, ignoring case. Empty text matches all.

    Raises:
        UsageError: the expression cannot be read; the message names the column.
    """
    if not text.strip():
        return lambda _label: True
    parser = _Parser(text, _tokens(text))
    predicate = parser.either()
    if parser.rest:
        raise parser.error(f"unexpected '{parser.rest[0].text}'")
    return lambda label: predicate(label.lower())


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(text):
        if match["wrong"]:
            column = match.start("wrong") + 1
            raise UsageError(f"-k '{text}': column {column}: unexpected character '{match['wrong']}'")
        found = match["mark"] or match["word"]
        tokens.append(_Token(found, match.end() - len(found) + 1))
    return tokens


class _Parser:
    """Recursive descent over ``or``, ``and``, ``not`` and brackets."""

    def __init__(self, text: str, tokens: list[_Token]):
        self.text = text
        self.rest = tokens

    def error(self, what: str) -> UsageError:
        column = self.rest[0].column if self.rest else len(self.text) + 1
        return UsageError(f"-k '{self.text}': column {column}: {what}; write words joined by and, or, not and brackets")

    def accept(self, word: str) -> bool:
        if self.rest and self.rest[0].text == word:
            self.rest.pop(0)
            return True
        return False

    def either(self) -> Predicate:
        left = self.both()
        while self.accept("or"):
            left = _or(left, self.both())
        return left

    def both(self) -> Predicate:
        left = self.negated()
        while self.accept("and"):
            left = _and(left, self.negated())
        return left

    def negated(self) -> Predicate:
        if self.accept("not"):
            return _not(self.negated())
        if self.accept("("):
            inner = self.either()
            if not self.accept(")"):
                raise self.error("a bracket is not closed")
            return inner
        if not self.rest or self.rest[0].text in ("and", "or", ")"):
            raise self.error("a word is missing")
        return _contains(self.rest.pop(0).text.lower())


def _contains(word: str) -> Predicate:
    return lambda label: word in label


def _or(left: Predicate, right: Predicate) -> Predicate:
    return lambda label: left(label) or right(label)


def _and(left: Predicate, right: Predicate) -> Predicate:
    return lambda label: left(label) and right(label)


def _not(inner: Predicate) -> Predicate:
    return lambda label: not inner(label)
