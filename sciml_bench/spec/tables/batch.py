"""Loads a problem's batch, and says which problems can have one."""

from __future__ import annotations

from typing import Any

from sciml_bench.spec.batch import MAX_BATCH, ONE, Batch
from sciml_bench.spec.given import Given
from sciml_bench.spec.keys import TEXTS, Key, Table, Whole, number_key, seed_key
from sciml_bench.spec.language.operators import ARRAY_OPERATORS, ControlSlope, MatrixOf, NetworkOutput
from sciml_bench.spec.model import Problem, to_double
from sciml_bench.spec.quantities import State
from sciml_bench.spec.reader import Reader

SIZE, SEED = Whole("size", 1, MAX_BATCH, required=True), seed_key()
BATCH = Table(SIZE, number_key("spread"), SEED, Key("drawn", TEXTS))


def load_batch(reader: Reader, states: tuple[State, ...], given: tuple[Given, ...] = (), driven: bool = False) -> Batch:
    """The declared batch; one trajectory if there is none, or of data a trajectory for each row.

    Trajectories that are ``driven`` by Brownian motions differ by these, and are not drawn.
    """
    document, data = reader.document, reader.document.table("batch")
    if given:
        return _rows(reader, data, len(given[0].rows))
    if not data:
        return ONE
    BATCH.check(document, data, "batch")
    size = SIZE.read(document, data, "batch")
    if driven:
        _refuse_drawn(reader, data, "trajectories differ by their Brownian motions")
        return Batch(size)
    spread = to_double(reader.constant(data.get("spread", 0), "batch", "spread"))
    start = SEED.read(document, data, "batch")
    if size > 1 and not spread > 0:
        cure = "Give the deviation of the initial states in units of each state's scale, as in `spread = 0.1`."
        raise document.error("the trajectories of the batch are all the same.", "batch", "spread", cure)
    drawn = data.get("drawn", [])
    known = [state.name for state in states]
    if not isinstance(drawn, list) or any(name not in known for name in drawn):
        raise document.error("'drawn' must be a list of states.", "batch", "drawn", f"States: {', '.join(known)}.")
    computed = [state.name for state in states if state.start is not None]
    if size > 1 and computed:
        cure = "Give each trajectory its own data by [data], or leave [batch] out."
        message = f"the initial value of '{computed[0]}' is computed, so it cannot be drawn at random."
        raise document.error(message, "batch", "size", cure)
    return Batch(size, spread, start, tuple(drawn))


def _rows(reader: Reader, data: dict[str, Any], n_rows: int) -> Batch:
    """The first rows of the data, as many as there are trajectories."""
    document = reader.document
    BATCH.check(document, data, "batch")
    _refuse_drawn(reader, data, "trajectories differ by their rows of [data]")
    size = SIZE.read(document, data, "batch", default=min(n_rows, MAX_BATCH))
    if size > n_rows:
        cure = f"Take at most {n_rows}, or add rows to the file that [data] names."
        raise document.error(f"the data have {n_rows} rows for {size} trajectories.", "batch", "size", cure)
    return Batch(size)


def _refuse_drawn(reader: Reader, data: dict[str, Any], reason: str) -> None:
    for key in data:
        if key != "size":
            message = f"'{key}' belongs to batches that are drawn."
            raise reader.document.error(message, "batch", key, f"Remove it: {reason}.")


def refuse_unbatched(reader: Reader, problem: Problem) -> None:
    """Refuse a batch of a problem whose equations cannot be written for many trajectories at once.

    Raises:
        ProblemError: there are fields, the equations mix elements with whole vectors, the loss has data, the
            gradient is with respect to the initial state, or what stands around the solve would start all
            trajectories alike.
    """
    around = next((name for name in ("of", "penalty") if getattr(problem.loss, name) is not None), None)
    if problem.grids or not (problem.all_scalar or _whole_vectors(problem)):
        reason = "a batch is for problems of scalars, or of vectors that the equations only take as a whole."
    elif problem.loss.data:
        reason = "the trajectories of a batch have no separate data, so the loss cannot have any."
    elif problem.wrt != "parameters":
        reason = "gradients of a batch are with respect to parameters, but the problem has none."
    elif problem.batch.spread > 0 and around is not None:
        cure = "Give each trajectory its initial state by [data], or let the loss be of all states without a penalty."
        message = f"trajectories that are drawn have no loss with '{around}'."
        raise reader.document.error(message, "loss", around, cure)
    else:
        return
    raise reader.document.error(reason, "batch", "size", "Leave [batch] out, or change the problem.")


def _whole_vectors(problem: Problem) -> bool:
    if any(len(state.shape) != 1 for state in problem.states):
        return False
    expressions = [*problem.equations.values(), *(definition.expr for definition in problem.definitions)]
    found = {type(node) for expr in expressions for node in expr.atoms(*ARRAY_OPERATORS)}
    return found <= {NetworkOutput, ControlSlope, MatrixOf} and all(
        len(definition.shape) == 1 for definition in problem.definitions
    )
