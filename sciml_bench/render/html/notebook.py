"""A run as a notebook shows it: a line of facts, and each table with its times, errors and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from sciml_bench.analysis.advice.answer import time_text
from sciml_bench.analysis.analysis import Analysis, ProblemAnalysis, RankedTable
from sciml_bench.analysis.rows import Row
from sciml_bench.analysis.tables import formatting

_HEADINGS = ("way", "gradient", "solve", "1st gradient", "gradient error", "mescd", "points", "memory")


def run_html(analysis: Analysis) -> str:
    """The tables of a run, the fastest gradient first, and what failed."""
    return "".join(_parts(analysis))


def _parts(analysis: Analysis) -> Iterator[str]:
    profile = analysis.summary.plan.profile.name
    account = analysis.cell_tally.sentence
    yield f"<p><b>{escape(analysis.folder.name)}</b>, profile {escape(profile)}. {escape(account)}</p>"
    if analysis.why_not_comparable:
        yield f"<p>Not comparable: {escape(analysis.why_not_comparable)}.</p>"
    for problem in analysis.problems:
        if any(cell.processes for cell in problem.cells):
            yield from _problem(problem)
    failed = analysis.failures
    if failed:
        items = "".join(f"<li>{escape(f'{item.label}: {item.outcome}, {item.reason}')}</li>" for item in failed)
        yield f"<details><summary>{len(failed)} failed</summary><ul>{items}</ul></details>"


def _problem(problem: ProblemAnalysis) -> Iterator[str]:
    yield f"<h4>{escape(problem.name)}: {escape(problem.title)}</h4>"
    if not problem.tables:
        yield "<p>No cell has a time to show.</p>"
        return
    yield f"<p>{escape(' '.join(problem.sentences))}</p>"
    for ranked in problem.tables:
        yield from _table(ranked)
    solve, gradient = problem.answer.at("solve"), problem.answer.at("gradient")
    yield f"<p>Solves at {escape(solve)}, gradients at {escape(gradient)}.</p>"


def _table(ranked: RankedTable) -> Iterator[str]:
    heads = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in _texts(row))}</tr>" for row in ranked.table.rows
    )
    yield f"<table><caption>{escape(ranked.table.heading)}</caption><thead><tr>{heads}</tr></thead>"
    yield f"<tbody>{rows}</tbody></table>"


def _texts(row: Row) -> tuple[str, ...]:
    cell = row.summary
    first = cell.first_gradient_process
    ok = sum(point.outcome.value == "ok" for point in cell.points)
    return (
        row.name,
        time_text(row, "gradient"),
        time_text(row, "solve"),
        formatting.duration(None if first is None else first.median),
        formatting.error(row.gradient_error),
        formatting.digits(row.mescd),
        f"{ok}/{len(cell.points)}",
        formatting.size(cell.peak_rss_bytes),
    )
