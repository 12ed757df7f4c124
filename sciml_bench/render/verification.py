"""A verdict for people: violations, by rule, and how to fix them; nothing reassuring after an error."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.record.text import counted
from sciml_bench.verification.rules import Severity, edition
from sciml_bench.verification.verify import Breach, Verification

# Each rule lists this many places; --json and --all name all.
MOST_NAMED = 5


def lines(verification: Verification, everything: bool = False) -> Iterator[str]:
    """The lines to print. With ``everything`` each record has a line, and each violation is named."""
    if everything:
        for item in verification.judged:
            block = "" if item.block is None else f"  block {item.block}"
            broken = "" if item.valid else f"  {', '.join(item.broken)}"
            yield f"line {item.line:>4}  {'VALID  ' if item.valid else 'INVALID'}  {item.label}{block}{broken}"
        yield ""
    for severity in Severity:
        chosen = [breach for breach in verification.breaches if breach.rule.severity is severity]
        for rule in dict.fromkeys(breach.rule.id for breach in chosen):
            yield from _of_rule([breach for breach in chosen if breach.rule.id == rule], everything)
    for (rule, reason), count in verification.unchecked.items():
        yield f"not checked: {edition().rules[rule].title}, for {counted(count, 'record')}: {reason}"
    yield _conclusion(verification)
    yield verification.cell_tally


def _of_rule(breaches: list[Breach], everything: bool) -> Iterator[str]:
    rule = breaches[0].rule
    yield f"{rule.severity.upper()} {rule.id}: {rule.title}"
    yield f"  demanded: {rule.demand}"
    named = breaches if everything else breaches[:MOST_NAMED]
    for breach in named:
        where = "run" if breach.line is None else f"line {breach.line}, {breach.label}"
        yield f"  {where}: {breach.found}"
    if len(named) < len(breaches):
        yield f"  and {len(breaches) - len(named)} more; --all names them"
    yield f"  what to do: {rule.cure}"
    yield ""


def _conclusion(verification: Verification) -> str:
    invalid = sum(not item.valid for item in verification.judged)
    total = counted(len(verification.judged), "record")
    rules = f"{len(edition().rules)} rules, edition {verification.edition}"
    smoke = "" if verification.comparable else "; its profile runs one process per cell, so it is never compared"
    if verification.valid:
        return f"VALID: {total} by {rules}{smoke}"
    of_run = len({breach.rule.id for breach in verification.breaches if breach.invalid and breach.line is None})
    run = f", and the run as a whole breaks {counted(of_run, 'rule')}" if of_run else ""
    return f"INVALID: {invalid} of {total}{run}, by {rules}{smoke}"
