"""A run's report as plain JSON values, for ``show --json``: the same numbers as the tables, unrounded."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sciml_bench.analysis.advice.answer import Answer
from sciml_bench.analysis.advice.break_even import BreakEven
from sciml_bench.analysis.analysis import Analysis, RankedTable
from sciml_bench.analysis.comparable import disturbed
from sciml_bench.analysis.drifts import document
from sciml_bench.analysis.explanation.phase_breakdown import stack
from sciml_bench.analysis.models import model_table
from sciml_bench.analysis.ranking import QUANTITIES, Lead, Ranking
from sciml_bench.analysis.reliability import shares
from sciml_bench.analysis.rows import Comparison, Row, Time
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables import advice
from sciml_bench.analysis.tables.formatting import finite
from sciml_bench.analysis.tables.models import model_document
from sciml_bench.analysis.tables.sweep import document as sweep_document
from sciml_bench.analysis.tables.training import document as training_document
from sciml_bench.analysis.training import training_rows
from sciml_bench.render.recommendation import advised_document
from sciml_bench.stats.spread import Spread


def run_document(analysis: Analysis) -> dict[str, Any]:
    """Everything that the tables show. Times are seconds, sizes bytes."""
    summary, counts, comparable = analysis.summary, analysis.cell_tally, analysis.comparable
    return {
        "folder": str(analysis.folder),
        "profile": summary.plan.profile.name,
        "comparable": comparable,
        "not_comparable": analysis.why_not_comparable or None,
        "disturbed_processes": disturbed(summary.cells.values()).count,
        "comparisons_in_family": 0 if analysis.judged is None else analysis.judged.family,
        "problems": [
            {
                **_problem(problem.comparison, [_table(ranked) for ranked in problem.tables]),
                "answer": _answer(problem.answer),
                "recommendation": None if problem.recommendation is None else advised_document(problem.recommendation),
                "invariants": document(problem.cells),
                "training": training_document(training_rows(problem.cells)),
                **_model(summary, problem.name),
            }
            for problem in analysis.problems
        ],
        "advice": advice.document(analysis.advice),
        "sweep": sweep_document(summary),
        "stability": [
            {"cell": cell.cell.label, **dataclasses.asdict(found)}
            for cell in summary.cells.values()
            if cell.processes and (found := shares(cell)) is not None
        ],
        "failures": [dataclasses.asdict(failure) for failure in analysis.failures],
        "account": {**dataclasses.asdict(counts), "sentence": counts.sentence},
    }


def _model(summary: RunSummary, name: str) -> dict[str, Any]:
    """Further facts of a model of the conventional track; empty for an equation."""
    problem = summary.plan.problem(name)
    if problem is None or not problem.is_model:
        return {}
    return {"model": model_document(problem, model_table(name, summary.of_problem(name)))}


def _problem(comparison: Comparison, of_tables: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "problem": comparison.problem,
        "solve_target": dataclasses.asdict(comparison.solve_target),
        "gradient_target": dataclasses.asdict(comparison.gradient_target),
        "cells": [_row(row) for row in comparison.rows],
        "tables": of_tables,
    }


def _table(ranked: RankedTable) -> dict[str, Any]:
    """One table: its cells, and of a group of matched cells the ranking within it."""
    table = ranked.table
    within = {} if not ranked.within_group else {"within_group": _rankings(ranked.rankings)}
    return {"name": table.name, "cells": [_label(row) for row in table.rows], **within}


def _answer(answer: Answer) -> dict[str, Any]:
    """The answer for a problem: sentences, rankings of all of its cells, and the cheapest."""
    return {
        "sentences": list(answer.sentences),
        **_rankings(answer.rankings),
        "cheapest": None if answer.choice is None else _choice(answer.choice),
    }


def _rankings(rankings: Mapping[str, Ranking]) -> dict[str, Any]:
    return {quantity: _ranking(rankings[quantity]) if quantity in rankings else None for quantity in QUANTITIES}


def _ranking(found: Ranking) -> dict[str, Any]:
    return {
        "verdict": "fastest" if found.lead is Lead.CLEAR else found.lead.value,
        "cell": _label(found.fastest),
        "not_slower": [_label(item.row) for item in found.tied],
        "against": [
            {
                "cell": _label(item.row),
                "verdict": item.judgement.verdict.value,
                "ratio": finite(dataclasses.asdict(item.judgement.ratio)),
                "adjusted_p": item.judgement.adjusted_p,
                "more_processes": item.judgement.more_processes,
                "held": item.judgement.held,
                "disturbed_processes": disturbed((item.fastest.summary, item.row.summary)).count,
            }
            for item in found.standings
        ],
    }


_LEADS = {Lead.CLEAR: "cheapest", Lead.SAME: "same", Lead.UNDECIDED: "undecided"}


def _choice(found: BreakEven) -> dict[str, Any]:
    return {
        "best": [
            {
                "gradients": item.gradients,
                "cell": _label(item.row),
                "total_s": item.total_s,
                "verdict": _LEADS[item.lead],
                "not_more_expensive": [
                    {
                        "cell": _label(tied.row),
                        "verdict": None if tied.judgement is None else tied.judgement.verdict.value,
                        "ratio": None if tied.judgement is None else finite(dataclasses.asdict(tied.judgement.ratio)),
                    }
                    for tied in item.tied
                ],
            }
            for item in found.best
        ],
        "overtakings": [
            {
                "gradients": item.gradients,
                "early": _label(item.early),
                "late": _label(item.late),
                "range": None
                if item.low is None or item.high is None
                else finite({"low": item.low, "high": item.high, "confidence": item.confidence, "blocks": item.blocks}),
                "decided": item.decided,
            }
            for item in found.overtakings
        ],
    }


def _label(row: Row) -> str:
    return row.summary.cell.label


def _row(row: Row) -> dict[str, Any]:
    cell = row.summary
    stacked = stack(cell)
    return {
        "label": cell.cell.label,
        **dataclasses.asdict(cell.cell),
        "division": cell.division,
        "group": cell.group,
        "role": cell.role,
        "processes": len(cell.processes),
        "first_gradient_from_process_s": _spread(cell.first_gradient_process),
        "first_gradient_from_built_s": _spread(cell.first_gradient_built),
        "solve": _time(row.solve),
        "gradient": _time(row.gradient),
        "scd": row.scd,
        "mescd": row.mescd,
        "solve_error_capped_by_reference": row.solve_capped,
        "gradient_error": row.gradient_error,
        "gradient_error_capped_by_reference": row.gradient_capped,
        "gradient_worst_component": row.worst_component,
        "gradient_worst_component_error": row.worst_component_error,
        "point_outcomes": dict(cell.point_outcomes),
        "peak_rss_bytes": cell.peak_rss_bytes,
        "where_time_went_s": None if stacked is None else {"wall": stacked.total_s, **stacked.parts_s},
    }


def _time(time: Time) -> dict[str, Any]:
    return {"seconds": _spread(time.seconds), "at_most": time.at_most, "reason": time.reason}


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else dataclasses.asdict(spread)
