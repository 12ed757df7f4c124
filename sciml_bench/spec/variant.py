"""Variants of a problem: its own file with one number changed, to see how cost grows with that number.

A variant is a complete problem file, made from the text of the base file so that its comments and order are kept. It
is loaded like any other. Parts that only fit the base's numbers are removed: published digits, the training, the hash
of weights that are drawn again, and data of the loss that do not exist for other times or more trajectories; the loss
then has no data, in the base as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import UsageError
from sciml_bench.spec.batch import MAX_BATCH
from sciml_bench.spec.document import Document
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem
from sciml_bench.spec.reader import MAX_COMPONENTS
from sciml_bench.spec.respacing import respaced
from sciml_bench.spec.tables.networks import MAX_WEIGHTS, MAX_WIDTH
from sciml_bench.spec.tables.observables import LIKELIHOOD

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


SPREAD = 0.1
"""Deviation of the initial states of a batch, in units of each state's scale, where the problem has no batch."""

WIDTHS = (1, 4, 16, 64, 256)
"""The widths of a sweep over parameters: from as few parameters as a network can have."""

_LONGEST_NAME = 61

_RANGES = {"batch": (1, MAX_BATCH), "width": (1, MAX_WIDTH), "points": (3, MAX_COMPONENTS), "span": (1, 1000)}


@dataclass(frozen=True)
class Variant:
    """One variant: its name, the text of its file, and the number that was put into it."""

    name: str
    text: str
    value: int


@dataclass(frozen=True)
class Family:
    """A base problem and its variants. ``files`` are the files read along with the base: data, references.

    ``files`` maps names to bytes; a reference is only there for a variant that is the base itself.
    """

    base: Problem
    variants: tuple[Variant, ...]
    files: dict[str, bytes]

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write everything into a folder and return the problem files, in order."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        paths = tuple(folder / f"{variant.name}.toml" for variant in self.variants)
        for path, variant in zip(paths, self.variants, strict=True):
            path.write_text(variant.text, encoding="utf-8")
        return paths


def family(path: Path, over: str, values: Sequence[int], network: str = "") -> Family:
    """The variants of a problem file.

    ``over`` is ``batch`` (trajectories), ``width`` (of the hidden layers of a network), ``points`` (of every grid),
    ``span`` (times the base's time span, with as many saved times) or ``parameters`` (theta's components, by the
    nearest width; without values, by the widths :data:`WIDTHS`).

    Raises:
        ProblemError: the base file is wrong.
        UsageError: the problem has no such number, or a value is out of its range.
    """
    base = load_problem(path)
    change, put = _change(base, over, values, network)
    low, high = _RANGES[change.kind]
    for value in put:
        if not low <= value <= high:
            raise UsageError(f"{value} is no {change.noun}: it lies between {low} and {high}")
    text = path.read_text(encoding="utf-8")
    variants = tuple(_variant(base, text, change, value) for value in put)
    return Family(base, variants, _files(path, variants, change))


@dataclass(frozen=True)
class _Change:
    """The way one number is put into a file. ``present`` is the base's number."""

    kind: str
    noun: str
    present: int | None
    put: Callable[[TOMLDocument, int], None]
    without_data: bool = False


def _change(base: Problem, over: str, values: Sequence[int], network: str) -> tuple[_Change, Sequence[int]]:
    if over == "batch":
        without = bool(base.loss.data or (base.loss.reads and not base.conditions))
        return _Change("batch", "number of trajectories", base.batch.size, _put_batch, without), values
    if over == "span":
        if base.breakpoints:
            raise UsageError(f"{base.name} has breakpoints in its time span, which a longer one would leave behind")
        put, without = lambda data, n: _put_span(base, data, n), bool(base.loss.data or base.loss.reads)
        return _Change("span", "multiple of the time span", 1, put, without), values
    if over == "points":
        if not base.grids:
            raise UsageError(f"{base.name} has no grid, so it has no points to change; sweep a problem with [grids]")
        counts = {grid.points for grid in base.grids}
        present = counts.pop() if len(counts) == 1 else None
        return _Change("points", "number of points", present, lambda data, n: respaced(base, data, n)), values
    name = _network(base, network)
    widths = [layer.outputs for layer in next(n for n in base.networks if n.name == name).layers[:-1]]
    present = widths[0] if len(set(widths)) == 1 else None
    change = _Change("width", "width of a layer", present, lambda data, width: _put_width(data, name, width))
    if over == "width":
        return change, values
    found = [_width_of(base, name, value) for value in values] or list(WIDTHS)
    if len(set(found)) < len(found):
        raise UsageError(
            f"two of the numbers of parameters give {base.name} the same width; choose values further apart"
        )
    return change, found


def _network(base: Problem, wanted: str) -> str:
    """The network whose hidden layers are changed."""
    names = [network.name for network in base.networks]
    if not names:
        raise UsageError(f"{base.name} has no network, so it has no width to change; sweep a problem with [networks]")
    if wanted and wanted not in names:
        raise UsageError(f"{base.name} has no network '{wanted}'; it has {', '.join(names)}")
    if not wanted and len(names) > 1:
        raise UsageError(f"{base.name} has several networks; name one with --network: {', '.join(names)}")
    name = wanted or names[0]
    if len(next(network for network in base.networks if network.name == name).layers) < 2:
        raise UsageError(f"the network '{name}' of {base.name} has no hidden layer whose width could change")
    return name


def parameters_at(base: Problem, name: str, width: int) -> int:
    """Return how many components theta has when the hidden layers of a network have this width."""
    others = sum(len(network.weights) for network in base.networks if network.name != name)
    layers = next(network for network in base.networks if network.name == name).layers
    sizes = [layers[0].inputs, *([width] * (len(layers) - 1)), layers[-1].outputs]
    return base.n_named + others + sum(b * (a + 1) for a, b in pairwise(sizes))


def _width_of(base: Problem, name: str, parameters: int) -> int:
    """The width whose number of parameters comes nearest, in proportion."""
    least, most = parameters_at(base, name, 1), base.n_named + MAX_WEIGHTS
    if not least <= parameters <= most:
        raise UsageError(
            f"{base.name} cannot have {parameters} parameters by the width of '{name}': it has at least {least}, and "
            f"{most} at most are allowed"
        )
    low, high = 1, MAX_WIDTH
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if parameters_at(base, name, middle) < parameters else (low, middle)
    below = max(low - 1, 1)
    near = parameters * parameters < parameters_at(base, name, below) * parameters_at(base, name, low)
    return below if near else low


def _variant(base: Problem, text: str, change: _Change, value: int) -> Variant:
    import tomlkit

    suffix = f"-{change.kind}-{value}"
    # A problem that already ends in its size would carry two.
    name = f"{base.name[: _LONGEST_NAME - len(suffix)].rstrip('-')}{suffix}"
    data = tomlkit.parse(text)
    data["name"] = name
    data["title"] = f"{base.title or base.name}; {change.noun} {value}{', a loss without data' * change.without_data}"
    for table in ("training", "published", "published_gradient"):
        data.pop(table, None)
    if change.without_data:
        loss = data.get("loss", {})
        loss.pop("data", None)
        if loss.get("kind") == LIKELIHOOD:
            loss.pop("kind")
        for table in ("observables", "measurements"):
            data.pop(table, None)
    if value != change.present:
        change.put(data, value)
    return Variant(name, tomlkit.dumps(data), value)


def _put_batch(data: TOMLDocument, size: int) -> None:
    import tomlkit

    # Trajectories with their own data are not drawn: they are the first rows.
    has_rows = bool({"data", "conditions"} & data.keys())
    drawn = not has_rows and not any("brownian" in path for path in data.get("control", {}).values())
    if "batch" not in data:
        if size == 1 and drawn:
            return
        data["batch"] = tomlkit.table()
    _table(data, "batch")["size"] = size
    if drawn:
        _table(data, "batch").setdefault("spread", SPREAD)


def _put_span(base: Problem, data: TOMLDocument, times: int) -> None:
    table = _table(data, "time")
    if "times" in table.get("save", {}):
        # As many as before, further apart.
        table["save"]["times"] = [str(base.t0 + times * (time - base.t0)) for time in base.save_times]
    table["t1"] = str(base.t0 + times * (base.t1 - base.t0))


def _put_width(data: TOMLDocument, name: str, width: int) -> None:
    table = _table(data, "networks")[name]
    table["layers"] = [*([width] * (len(table["layers"]) - 1)), int(table["layers"][-1])]
    # The weights are other numbers of the same draw.
    table.pop("sha256", None)


def _table(data: TOMLDocument, name: str) -> Any:
    return data[name]


def _files(path: Path, variants: Sequence[Variant], change: _Change) -> dict[str, bytes]:
    """The data files of the base; its reference, for the variant that is the base under another name."""
    found: dict[str, bytes] = {}
    document = Document.read(path)
    names = [document.table(table).get("file") for table in ("data", "conditions")]
    if not change.without_data:
        names.append(document.table("measurements").get("file"))
        names += [block.get("data") for block in (document.table("loss"), *document.data.get("observables", []))]
    for name in filter(None, names):
        found[name] = path.with_name(name).read_bytes()
    reference = path.with_name(f"{path.stem}.reference.json")
    for variant in variants:
        same = variant.value == change.present and not change.without_data
        if same and reference.is_file():
            found[f"{variant.name}.reference.json"] = reference.read_bytes()
    return found
