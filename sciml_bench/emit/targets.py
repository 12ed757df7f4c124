"""Differences between the targets: names of functions, unpacking and assembling of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Target:
    """One array library to print for.

    ``module`` is the prefix of its functions. ``unpack`` and ``stack`` are format strings. ``traced`` is true if
    scalars are arrays of the library (every target but NumPy, whose scalars are Python floats). ``reserved`` are names
    that a quantity cannot have in it. ``arrays``: every operation runs separately, so that scalar problems are written
    in as few operations as possible, see :mod:`.arrays`; a compiler sees the numbers instead, and fuses them.

    ``differentiates`` is false if the library takes no derivatives: its modules have their own. ``floats``: flat
    parameters are Python's floats, and derivatives may be returned as such. ``tensors`` have a separate precision:
    times are cast to the state's. ``mapped``: code for one point or one trajectory is mapped over many. ``products``:
    small powers are faster as products. ``matvec`` is a function in place of ``@``, ``axis`` the keyword for an axis,
    and ``batch`` the differences for states of many trajectories.

    ``modules``: networks are objects that hold their weights; elsewhere they are functions, and take them.
    ``jacobian``: solvers are given the Jacobian of scalar problems. ``ones``, ``by_time`` and ``cross_entropy`` are
    format strings for code around a solve: a one for each of n trajectories, (batch, times, …) as (times, batch, …),
    and the loss of outputs {0} with labels {1}. ``logic`` is the prefix of functions that replace ``&``, ``|`` and
    ``~``, and ``roll`` moves entries around a vector's end.
    """

    name: str
    module: str
    imports: tuple[str, ...]
    unpack: str
    stack: str
    concatenate: str
    constant: str
    array: str
    total: str
    row_sum: str
    gather: str
    reshape: str
    fill: str
    functions: dict[str, str]
    traced: bool = True
    reserved: frozenset[str] = frozenset()
    batched: bool = False
    arrays: bool = False
    differentiates: bool = True
    floats: bool = False
    tensors: bool = False
    mapped: bool = False
    products: bool = False
    matvec: str = ""
    axis: str = "axis"
    batch: Mapping[str, str] = field(default_factory=dict[str, str])
    modules: bool = False
    jacobian: bool = False
    ones: str = ""
    by_time: str = ""
    cross_entropy: str = ""
    logic: str = ""
    roll: str = ""

    def for_batch(self) -> Target:
        """The target that prints for states of shape (batch, n_states): components lie along the last axis."""
        # JAX maps the function of one trajectory over the batch, and NumPy and Julia loop over it.
        return replace(self, batched=True, **self.batch) if self.batch else self


_COMMON = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs", "sign", "expm1", "log1p", "floor",
)  # fmt: skip


def _functions(prefix: str, **special: str) -> dict[str, str]:
    inverse = {"asin": f"{prefix}.arcsin", "acos": f"{prefix}.arccos", "atan": f"{prefix}.arctan"}
    return {**{name: f"{prefix}.{name}" for name in _COMMON}, **inverse, "where": f"{prefix}.where", **special}


_JULIA_RESERVED = frozenset({
    "abstract", "at", "baremodule", "begin", "catch", "const", "convert", "do", "eltype", "end", "export", "false",
    "function", "i", "ifelse", "j", "k", "let", "local", "loss", "macro", "max", "min", "mod1", "module", "mutable",
    "primitive", "promote", "public", "quote", "similar", "struct", "sum", "term", "true", "type", "using", "vec",
    "zero",
    *_COMMON, "asin", "acos", "atan", "collect", "range", "factor", "solve_tridiagonal", "STENCILS", "HAS_BRANCHES",
    "NaNMath", "SVector",
    "abs2", "eachcol", "eachindex", "fill", "first", "foldl", "hcat", "logsumexp", "named", "reduce", "reshape",
    "reverse", "transpose", "vcat", "zeros",
})  # fmt: skip

TARGETS = {
    "numpy": Target(
        name="numpy", module="np", imports=("import math", "import numpy as np"),
        unpack="{}.tolist()", stack="np.array([{}])", concatenate="np.concatenate([{}])",
        constant="{}", array="{}", total="np.sum({})", row_sum="np.add.reduce({}, axis=-1)", gather="{}[{}]",
        reshape="{}.reshape({})", fill="np.full({1}, {0})",
        functions=_functions("np"), traced=False, reserved=frozenset({"ENTRIES", "out"}),
        differentiates=False, floats=True, cross_entropy="np.logaddexp.reduce({0}) - {0}[{1}]",
    ),
    # A function of Python's own numbers that writes into an array of whatever library calls it.
    "python": Target(
        name="python", module="np", imports=("import math", "import numpy as np"),
        unpack="{}", stack="", concatenate="", constant="{}", array="{}", total="np.sum({})",
        row_sum="", gather="", reshape="", fill="",
        functions=_functions("np"), traced=False,
    ),
    # CasADi's symbols; the loss is NumPy's.
    "casadi": Target(
        name="casadi", module="ca", imports=("import casadi as ca", "import numpy as np"),
        unpack="ca.vertsplit({})", stack="ca.vertcat({})", concatenate="", constant="{}", array="{}",
        total="np.sum({})", row_sum="", gather="", reshape="", fill="",
        functions={
            **{name: f"ca.{name}" for name in (*_COMMON, "asin", "acos", "atan")}, "abs": "ca.fabs",
            "where": "ca.if_else",
        },
        reserved=frozenset({"ca"}), logic="ca.logic_",
    ),
    # A text in the language of diffsol; the loss is NumPy's.
    "diffsl": Target(
        name="diffsl", module="", imports=("import numpy as np",), unpack="{}", stack="", concatenate="", constant="{}",
        array="{}", total="np.sum({})", row_sum="", gather="", reshape="", fill="", functions={}, traced=False,
        reserved=frozenset({"STATES", "STARTS", "PARAMETERS", "MODEL"}),
    ),
    # Numba compiles code written for NumPy's scalars.
    "numba": Target(
        name="numba", module="np", imports=("import math", "import numpy as np", "from numba import njit"),
        unpack="{}", stack="np.array([{}])", concatenate="", constant="{}", array="{}", total="np.sum({})",
        row_sum="", gather="", reshape="", fill="",
        functions=_functions("np"), traced=False,
        reserved=frozenset({
            "njit", "derivative", "out", "values", "first", "last", "block", "entry", "state", "direction", "i", "k",
            "diagonal", "below", "ENTRIES", "AT", "COUPLED", "POINTS", "SPECIES", "stepped", "coupling", "augmented",
            "points", "places", "point", "own", "grid_point",
        }),
    ),
    "jax": Target(
        name="jax", module="jnp", imports=("import jax.numpy as jnp", "import numpy as np"),
        unpack="{}", stack="jnp.stack([{}])", concatenate="jnp.concatenate([{}])",
        constant="{}", array="jnp.asarray({})", total="jnp.sum({})", row_sum="jnp.sum({}, axis=-1)", gather="{}[{}]",
        reshape="{}.reshape({})", fill="jnp.full({1}, {0})",
        functions=_functions("jnp"), mapped=True, modules=True,
        cross_entropy="jax.nn.logsumexp({0}) - {0}[{1}]", roll="jnp.roll({}, {})",
    ),
    "torch": Target(
        name="torch", module="torch", imports=("import numpy as np", "import torch"),
        unpack="{}.unbind()", stack="torch.stack([{}])", concatenate="torch.cat([{}])",
        constant="y.new_full((), {})", array="torch.from_numpy(np.asarray({}))",
        total="torch.sum({})", row_sum="torch.sum({}, dim=-1)", gather="{}[{}]",
        reshape="{}.reshape({})", fill="{}.expand({})",
        functions=_functions("torch"), tensors=True, products=True, axis="dim", modules=True,
        ones="torch.ones({}, dtype=torch.float64)", by_time="{}.swapaxes(0, 1)",
        cross_entropy='torch.nn.functional.cross_entropy({0}, {1}, reduction="sum")', roll="torch.roll({}, {})",
        batch={"unpack": "{}.unbind(-1)", "stack": "torch.stack([{}], dim=-1)",
               "concatenate": "torch.cat([{}], dim=-1)"},
    ),
    "tensorflow": Target(
        name="tensorflow", module="tf", imports=("import numpy as np", "import tensorflow as tf"),
        unpack="tf.unstack({})", stack="tf.stack([{}])", concatenate="tf.concat([{}], axis=0)",
        constant="tf.constant({}, y.dtype)", array="tf.constant({})",
        total="tf.reduce_sum({})", row_sum="tf.reduce_sum({}, axis=-1)", gather="tf.gather({}, {})",
        reshape="tf.reshape({}, {})", fill="tf.fill({1}, {0})",
        functions=_functions(
            "tf", asin="tf.asin", acos="tf.acos", atan="tf.atan", log="tf.math.log",
            expm1="tf.math.expm1", log1p="tf.math.log1p",
        ),
        products=True, matvec="tf.linalg.matvec({}, {})", jacobian=True,
        ones="tf.ones({}, tf.float64)", by_time="tf.experimental.numpy.swapaxes({}, 0, 1)",
        cross_entropy="tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels={1}, logits={0}))",
        batch={"unpack": "tf.unstack({}, axis=-1)", "stack": "tf.stack([{}], axis=-1)",
               "concatenate": "tf.concat([{}], axis=-1)"},
    ),
    # Julia's modules are loops over elements, so it has no array operations.
    "julia": Target(
        name="julia", module="", imports=(), unpack="{}", stack="SVector({})", concatenate="", constant="{}",
        array="{}", total="", row_sum="", gather="", reshape="", fill="",
        functions={**{name: name for name in (*_COMMON, "asin", "acos", "atan")}, "where": "ifelse"},
        reserved=_JULIA_RESERVED,
    ),
}  # fmt: skip

TARGETS["torch-arrays"] = replace(
    TARGETS["torch"], arrays=True, reserved=frozenset({"prepared", "given", "picked", "placed"})
)
