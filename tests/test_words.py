"""The words that people read: phrases that a native reader stumbles over, each with a ceiling that only goes down.

Counted are docstrings, comments, and messages (strings of three words or more) of the package. Whoever lowers a count
lowers its ceiling here; ``python tests/test_words.py`` lists the places.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "sciml_bench"

PHRASES = {
    r"\btold\b": "reported, shown, given, listed",
    r"\btells? (of|what|whether|which|how|apart|that|the|in|it|its|no|nothing|neither|on)\b": "reports, says, shows",
    r"\b(does|do|did) not tell\b": "does not report",
    r"\bwithout a word\b": "without reporting a result",
    r"\blacks?\b|\blacking\b": "is missing, requires",
    r"\banew\b": "again",
    r"\bbesides\b": "also, as well, other than",
    r"\bbeside (it|them|a|an|the|its|their|other|each|ours?)\b": "next to, with",
    r"\bof (its|their|our|one's|his) own\b": "own X, separate",
    r"\bis no (?!longer|more|better|worse|slower|faster|such)\w+": "is not a X, unknown X",
    r"\bnone (of|but|that|is|are)\b": "no X; name the case",
    r"^(The same|Those|That of|Both of|Its own)\b": "name the thing",
    r"\b[Tt]hose (of|that|which|whose|who|with|where)\b": "repeat the noun",
    r"\bthat of\b": "repeat the noun",
    r"\b[Ww]hat (is|was|are|were|has|had|have|it|they|there|can|cannot|does|did|must|may)\b": "a noun",
    r"^(What|How|Whether|Why|Where|Which|Who|When)\b": "a noun phrase or an imperative",
    r"\b[Ss]o (many|much|few|long|far)\b(?! (as|that))": "the number itself",
    r"\bheld against\b|\bholds? against\b|\bset against\b": "compared with",
    r"\b(stands?|stood) (in|on|at|for|beside|below|above|alone|there|first|near|apart|where|by|side)\b": "is in, is at",
    r"\bwhere (there|it|they|that|this|nothing|none|its|their|one|both|some) \b": "if, when",
    r"\bbut for\b|\bnothing but\b|\bnone but\b": "except, only",
    r"\b(by|of) (itself|themselves)\b": "separately, on its own",
    r"\balike\b": "the same, equally",
    r"\b(become|becomes|became) of\b": "happened to",
    r"\bas far as\b": "if, where",
    r"\bfor want of\b|\bfor the sake of\b|\bfor its sake\b": "because X is missing",
    r"\bput together\b|\btaken apart\b|\btakes? .{0,20} apart\b": "assemble, split",
    r"\b(is|are) (asked|called|looked) for\b|\basked for\b": "requested",
    r"\bgo(es)? on\b|\bwent on\b": "continues",
    r"\b(its|the) (cure|cures)\b|\bcures? (each|it|for)\b": "fix",
    r"\bof which\b|\bfrom which\b|\bfor which\b": "split the sentence",
    r"\bor else\b|, else\b|\bwhat would else\b": "otherwise",
    r"\b(digits|processes|at most \w+) only\b": "only N digits",
    r"\b(breach|breaches)\b": "violation",
    r"\bslow-down\b": "slowdown",
    r"\b(up )?to the last bit\b": "bit for bit",
}
"""Phrases, and words to take instead."""

CEILINGS: dict[str, tuple[int, int, int]] = {
    r"\btold\b": (8, 0, 0),
    r"\btells? (of|what|whether|which|how|apart|that|the|in|it|its|no|nothing|neither|on)\b": (1, 0, 0),
    r"\blacks?\b|\blacking\b": (3, 0, 0),
    r"\bbesides\b": (1, 0, 1),
    r"\bbeside (it|them|a|an|the|its|their|other|each|ours?)\b": (5, 0, 0),
    r"\bof (its|their|our|one's|his) own\b": (5, 0, 0),
    r"\bis no (?!longer|more|better|worse|slower|faster|such)\w+": (19, 0, 1),
    r"\bnone (of|but|that|is|are)\b": (8, 0, 0),
    r"^(The same|Those|That of|Both of|Its own)\b": (1, 0, 3),
    r"\b[Tt]hose (of|that|which|whose|who|with|where)\b": (8, 0, 3),
    r"\bthat of\b": (2, 0, 2),
    r"\b[Ww]hat (is|was|are|were|has|had|have|it|they|there|can|cannot|does|did|must|may)\b": (20, 0, 9),
    r"^(What|How|Whether|Why|Where|Which|Who|When)\b": (3, 0, 0),
    r"\b[Ss]o (many|much|few|long|far)\b(?! (as|that))": (19, 0, 10),
    r"\b(stands?|stood) (in|on|at|for|beside|below|above|alone|there|first|near|apart|where|by|side)\b": (3, 0, 2),
    r"\bwhere (there|it|they|that|this|nothing|none|its|their|one|both|some) \b": (19, 0, 4),
    r"\bbut for\b|\bnothing but\b|\bnone but\b": (0, 0, 1),
    r"\balike\b": (2, 0, 1),
    r"\bas far as\b": (2, 0, 0),
    r"\bfor want of\b|\bfor the sake of\b|\bfor its sake\b": (0, 0, 1),
    r"\b(is|are) (asked|called|looked) for\b|\basked for\b": (2, 0, 1),
    r"\bof which\b|\bfrom which\b|\bfor which\b": (17, 0, 1),
}
"""For each phrase the most docstrings, messages and comments that may have it; none where it is missing here."""

KINDS = ("docstring", "message", "comment")


def prose(path: Path) -> Iterator[tuple[str, int, str]]:
    """Kind, line and text of all that a file says in words."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings: set[int] = set()
    inside: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for item in body if isinstance(body, list) else []:
            value = item.value if isinstance(item, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.add(id(value))
                yield "docstring", item.lineno, " ".join(value.value.split())
        if isinstance(node, ast.JoinedStr):
            inside |= {id(value) for value in node.values}
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "message", node.lineno, " ".join(text.split())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | inside:
            yield "message", node.lineno, " ".join(node.value.split())
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield "comment", token.start[0], token.string.lstrip("# ")


@cache
def texts() -> tuple[tuple[str, str, str], ...]:
    """Kind, place and text of all docstrings, messages and comments."""
    return tuple(
        (kind, f"{path.relative_to(PACKAGE.parent)}:{line}", text)
        for path in sorted(PACKAGE.rglob("*.py"))
        for kind, line, text in prose(path)
        if kind != "message" or len(text.split()) > 2
    )


def places(phrase: str) -> Iterator[tuple[str, str, str]]:
    """Kind, place and text of each time a phrase is used."""
    pattern = re.compile(phrase)
    for kind, place, text in texts():
        for _ in pattern.finditer(text):
            yield kind, place, text


def counts(phrase: str) -> tuple[int, int, int]:
    """How many docstrings, messages and comments have a phrase."""
    found = Counter(kind for kind, _, _ in places(phrase))
    return found[KINDS[0]], found[KINDS[1]], found[KINDS[2]]


def test_no_phrase_is_used_more_often_than_before():
    now = {phrase: counts(phrase) for phrase in PHRASES}
    above = {
        f"{phrase} -> {instead}": (now[phrase], CEILINGS.get(phrase, (0, 0, 0)))
        for phrase, instead in PHRASES.items()
        if any(count > most for count, most in zip(now[phrase], CEILINGS.get(phrase, (0, 0, 0)), strict=True))
    }
    assert not above, "docstrings, messages, comments: now, and at most"


def test_ceilings_are_the_counts():
    now = {phrase: found for phrase in PHRASES if (found := counts(phrase)) != (0, 0, 0)}
    assert now == CEILINGS, "lower the ceiling: it only goes down"


if __name__ == "__main__":
    for banned in PHRASES:
        for which, place, text in places(banned):
            print(f"{place}  {which}  {banned}  {text[:160]}")
