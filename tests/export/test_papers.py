"""Tables for papers (LaTeX) and for GitHub (Markdown)."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from stubs import drawn
from stubs.reported import summarise

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.render import latex, markdown

HOSTILE = "\\input{/etc/passwd} $x^2$ & 50% #1 {a} ~ <b> | \"q\" 'p' `c`\n\\\\ é µ 中 🦜 --- _u_ ^"


def strange():
    """A run whose names are text that is no name."""
    which = {
        dataclasses.replace(cell, problem=HOSTILE, method=HOSTILE): way
        for cell, way in drawn.cells(["robertson"]).items()
    }
    return summarise(drawn.plan_of(which), drawn.records(which))


@pytest.fixture(scope="module")
def summary():
    return drawn.summary(["robertson"], blocks=6)


def text_of(summary, price=None):
    return "\n".join(latex.latex(Analysis(summary, Path("run")), price))


def body(text):
    """The rows of the first table."""
    return re.search(r"\\midrule\n(.*?)\s*\\bottomrule", text, re.DOTALL)[1].splitlines()  # pyright: ignore[reportOptionalSubscript]


def test_booktabs_and_siunitx(summary):
    text = text_of(summary)
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 3
    assert re.search(r"\\begin\{tabular\}\{l(S\[table-format=[^]]+\]){5}\}", text)
    assert r"{gradient (ms)}" in text
    assert all(row.count("&") == 5 and row.endswith(r"\\") for row in body(text))


def test_the_best_is_bold_where_every_other_row_was_judged_slower(summary):
    rows = body(text_of(summary))
    (best,) = [row for row in rows if "bfseries" in row]
    assert best.strip().startswith("diffrax")
    assert best.count(r"\bfseries") == 2, "of solves and of gradients"


def test_nothing_is_bold_where_one_comparison_is_undecided():
    """Two of the same speed: one is the fastest, but no one can say so."""
    which = {c: (d, g, 4.0 if c.adapter == "diffrax" else f) for c, (d, g, f) in drawn.cells(["robertson"]).items()}
    made = summarise(drawn.plan_of(which), drawn.records(which, blocks=6))
    assert "bfseries" not in "".join(body(text_of(made)))


def test_nothing_is_bold_in_a_run_that_is_not_compared():
    text = text_of(drawn.summary(["robertson"], profile="smoke", blocks=1))
    assert "bfseries" not in text
    assert "not for comparison" in text


@pytest.mark.parametrize(
    ("value", "half", "expected"),
    [
        (12.3456, 0.123, "12.35(12)"),
        (12.3456, 1.23, "12.3(12)"),
        (123.4, 45.6, "123(46)"),
        (0.001234, 0.000045, "0.001234(45)"),
        (12.3456, 1e-9, "12.35(1)"),
        (1234.5, None, "1234"),
        (1.2345, None, "1.23"),
        (1.2345, 0.0, "1.23"),
        (5.0, 20.0, "5(20)"),
        (0.0, None, "{--}"),
        (float("inf"), 1.0, "{--}"),
    ],
)
def test_uncertainties_in_brackets(value, half, expected):
    assert latex.with_uncertainty(value, half) == expected


def test_text_of_strangers_is_no_command():
    escaped = latex.escaped(HOSTILE)
    assert "\n" not in escaped
    left = re.sub(r"\\(text[a-z]+\{\}|[{}$&#%_]|char34)", "", escaped)
    left = left.replace("{}", "").replace("{-}", "")
    assert not re.search(r"[\\$&#%_^~<>|\"]", left), left
    assert "U+4E2D" in escaped


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
@pytest.mark.parametrize("which", ["plain", "strange", "smoke"])
def test_it_compiles(which, summary, tmp_path):
    made = {"plain": summary, "strange": strange(), "smoke": drawn.summary(["robertson"], profile="smoke", blocks=1)}
    text = text_of(made[which], 2.5)
    preamble = "\n".join(line.partition(": ")[2] if "In the" in line else line[2:] for line in latex.PREAMBLE)
    document = f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{text}\n\\end{{document}}\n"
    (tmp_path / "a.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "a.tex"],
        cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "a.pdf").stat().st_size > 1000


def test_markdown_has_the_rows_and_the_verdicts(summary):
    text = "\n".join(markdown.markdown(Analysis(summary, Path("run")), 3.6))
    assert "### robertson: idiomatic" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in rows}
    assert widths == {10}
    assert re.search(r"\| diffrax kvaerno5 checkpointed compiled \| 4\.00 s .* \| fastest \|", text)
    assert re.search(r"\| torchdiffeq .* – \| .* \| max\\_steps 18 \|", text)
    assert "cost of 10⁶ gradients" in text


def test_markdown_of_strangers_is_no_markup():
    text = "\n".join(markdown.markdown(Analysis(strange(), Path("run"))))
    assert not re.search(r"(?<!\\)<b>|(?<!\\)`c|[^\\]\[", text)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| ")} == {9}
    assert markdown.escaped("@someone #1 https://x.y [a](b)\n# b") == (
        "@\u200bsomeone \\#1 https:\u200b//x.y \\[a\\](b) \\# b"
    )
    assert markdown.escaped("- a-b (c) 7.9e-10") == "\\- a-b (c) 7.9e-10"


def test_an_empty_run_has_no_tables():
    made = drawn.summary(blocks=0)
    assert list(markdown.markdown(Analysis(made, Path("run")))) == []
    assert "begin" not in text_of(made)
