"""A TensorFlow cell as a script: what ``program.py`` does for it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.tensorflow import BDF, FORWARD, RK4
from sciml_bench.adapters.tensorflow.shares import shares, sizes
from sciml_bench.adapters.time_grid import split
from sciml_bench.errors import UsageError
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem or method.
    """
    cell, values = task.cell, task.numbers
    script.refuse(task, "initial_state")
    if values.batch > 1:
        raise UsageError(f"{cell.problem} is a batch of trajectories: there are no scripts for such in TensorFlow yet")
    if cell.method == RK4.name:
        raise UsageError(f"there are no scripts for methods of fixed steps, as {cell.method}, yet")
    forward = cell.sensitivity == FORWARD
    if cell.method == BDF.name and not forward:
        # Where the adjoint solve stops early it hands over what it has, and says so to nobody.
        raise UsageError("there are no scripts for gradients by backsolve with BDF in TensorFlow")
    if cell.method == BDF.name and len(shares(len(values.y0), len(values.theta))) > 1:
        raise UsageError(
            f"BDF is given the sensitivities of {cell.problem} in parts: TensorFlow has no scripts for that yet"
        )
    quiet = ("import os", "", 'os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")', "")
    return script.joined(
        script.head(task, "tensorflow, tensorflow-probability, tf-keras and numpy"),
        f"{script.imports(task, *_NEEDED, first=quiet)}\n\n{_threads(task.threads)}",
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(task)]),
        _integrate(task),
        "\n".join(_augmented(task)) if forward else "",
        _gradient(task),
        script.check(task, "tf.constant({})", "_gradient(theta).numpy()"),
    )


_NEEDED = ("import tensorflow as tf", "import tensorflow_probability as tfp")


def _threads(count: int) -> str:
    return "\n".join(f"tf.config.threading.set_{kind}_op_parallelism_threads({count})" for kind in ("intra", "inter"))


def _numbers(task: Task) -> list[str]:
    cell, values = task.cell, task.numbers
    uniform = len(set(values.atol_scale[: values.n_states])) == 1
    lines = [
        "# Solvers take one absolute tolerance: where scales differ, they are given the state in units of its scale.",
        *(["ATOL, SCALE = ATOL[0], np.ones_like(SCALE)"] if uniform else ["ATOL = ATOL[0]/SCALE[0]"]),
        *_solver(task),
        "# Start, times, how many of them are saved, and the bounds of t, of each smooth part of the time span.",
        "PARTS = [",
    ]
    for part in split(values):
        bounds = f"float({str(part.low)!r}), float({str(part.high)!r})"
        lines.append(f"    ({part.start!r}, np.array({list(part.times)!r}), {part.n_saved}, {bounds}),")
    lines.append("]")
    if cell.sensitivity == FORWARD:
        units = script.numbers("UNITS", sizes(values).tolist())
        lines += ["# What the components of theta are measured in.", units]
    elif values.wrt == "parameters":
        lines += [
            "# What the named parameters are measured in.",
            script.numbers("UNITS", values.p_scale[: values.n_named]),
        ]
    return lines


def _solver(task: Task) -> list[str]:
    name = "BDF" if task.cell.method == BDF.name else "DormandPrince"
    return [f"SOLVER = tfp.math.ode.{name}(rtol=RTOL, atol=ATOL, max_num_steps=2**16)"]


def _integrate(task: Task) -> str:
    t = "tf.clip_by_value(t, low, high)" if task.numbers.breakpoints else "t"
    return "\n".join(
        [
            "def solved(slopes, jacobian, state, constants=None):",
            '    """The values at the saved times; the functions take t, in the part\'s bounds, and the values."""',
            "    saved = []",
            "    for start, times, n_saved, low, high in PARTS:",
            "        found = SOLVER.solve(",
            f"            lambda t, z, low=low, high=high, **given: slopes({t}, z, **given),",
            "            initial_time=start, initial_state=state, solution_times=times,",
            f"            jacobian_fn=jacobian and (lambda t, z, low=low, high=high: jacobian({t}, z)),",
            "            constants=constants,",
            "        )",
            "        reached = tf.equal(found.diagnostics.status, 0)",
            '        states = tf.where(reached, found.states, tf.constant(float("nan"), tf.float64))',
            "        state = states[-1]",
            "        saved.append(states[:n_saved])",
            "    return tf.concat(saved, axis=0)",
        ]
    )


def _start(task: Task) -> list[str]:
    """Functions of theta: the scaled initial state, and what ``rhs`` takes after t and y."""
    parameters = task.numbers.wrt == "parameters"
    arguments = "arguments(theta)" if script.has(task, "arguments") else "(theta,)"
    return [
        "def start(theta):",
        f"    return {'tf.constant(Y0/SCALE)' if parameters else 'theta/SCALE'}",
        "",
        "",
        "def taken(theta):",
        f"    return {arguments if parameters else '(tf.constant(P),)'}",
        "",
        "",
        "def scaled(t, z, theta):",
        "    return rhs(t, z*SCALE, *taken(theta))/SCALE",
    ]


def _augmented(task: Task) -> list[str]:
    """The state and its sensitivities as one system."""
    n, m = len(task.numbers.y0), len(task.numbers.theta)
    lines = [
        *_start(task),
        "",
        "",
        f"N, M = {n}, {m}",
        "DIRECTIONS = tf.constant(np.diag(UNITS))",
        "",
        "",
        "def along(function, z, theta, w, directions):",
        '    """Derivatives along pairs of a change of z and one of theta."""',
        "",
        "    def derivative(pair):",
        "        at = [tf.identity(z), tf.identity(theta)]",
        "        with tf.autodiff.ForwardAccumulator(at, list(pair)) as accumulator:",
        "            value = function(*at)",
        "        return accumulator.jvp(value, unconnected_gradients=tf.UnconnectedGradients.ZERO)",
        "",
        "    return tf.vectorized_map(derivative, (w, directions))",
        "",
        "",
        "def augmented(t, values, theta):",
        "    together = tf.reshape(values, (1 + M, N))",
        "    z, w = together[0], together[1:]",
        "    slopes = along(lambda z, theta: scaled(t, z, theta), z, theta, w, DIRECTIONS)",
        "    return tf.reshape(tf.concat([scaled(t, z, theta)[None], slopes], axis=0), (-1,))",
    ]
    if task.cell.method != BDF.name:
        return lines
    known = script.has(task, "jacobian")
    lines += ["", "", "def block(t, z, theta):"]
    if known:
        lines.append("    return jacobian(t, z*SCALE, *taken(theta))*(SCALE/SCALE[:, None])")
    else:
        lines += [
            "    units, nowhere = tf.eye(N, dtype=z.dtype), tf.zeros((N, M), theta.dtype)",
            "    return tf.transpose(along(lambda z, theta: scaled(t, z, theta), z, theta, units, nowhere))",
        ]
    lines += [
        "",
        "",
        "def augmented_jacobian(t, values, theta):",
        "    together = tf.reshape(values, (1 + M, N))",
        "    z, w = together[0], together[1:]",
        "    diagonal = tf.eye(1 + M, dtype=z.dtype)[:, None, :, None]*block(t, z, theta)[None, :, None, :]",
        "    matrix = tf.reshape(diagonal, (N*(1 + M), N*(1 + M)))",
    ]
    if not known:
        return [*lines, "    return matrix"]
    return [
        *lines,
        "    below = along(lambda z, theta: block(t, z, theta), z, theta, w, DIRECTIONS)",
        "    return matrix + tf.pad(tf.reshape(below, (N*M, N)), [[N, 0], [0, N*M]])",
    ]


def _gradient(task: Task) -> str:
    body = _forward(task) if task.cell.sensitivity == FORWARD else _backsolve(task)
    head = [] if task.cell.sensitivity == FORWARD else [*_start(task), "", ""]
    return "\n".join(
        [
            *head,
            f"@tf.function(autograph=False, jit_compile={task.cell.framework_mode == 'xla'})",
            "def _gradient(theta):",
            *body,
            "",
            "",
            "def value_and_gradient(theta):",
            '    """The loss at theta, and its gradient."""',
            "    *slopes, value = _gradient(tf.constant(theta)).numpy()",
            "    if not np.all(np.isfinite([*slopes, value])):",
            '        raise RuntimeError("the solve failed: loosen RTOL, or raise max_num_steps")',
            "    return float(value), np.array(slopes)",
        ]
    )


def _forward(task: Task) -> list[str]:
    jacobian = "lambda t, z: augmented_jacobian(t, z, theta)" if task.cell.method == BDF.name else "None"
    return [
        "    first = start(theta)",
        "    nowhere = tf.zeros((M, N), theta.dtype)",
        "    changes = along(lambda _, theta: start(theta), first, theta, nowhere, DIRECTIONS)",
        "    state = tf.concat([first, tf.reshape(changes, (-1,))], axis=0)",
        f"    found = solved(lambda t, z: augmented(t, z, theta), {jacobian}, state)",
        "    together = tf.reshape(found, (-1, 1 + M, N))*SCALE",
        "    ys, slopes = together[:, 0], together[:, 1:]",
        "    with tf.GradientTape() as tape:",
        "        tape.watch(ys)",
        "        value = loss(ys)",
        "    by_state = tf.convert_to_tensor(tape.gradient(value, ys))",
        '    gradient = tf.einsum("ti,tji->j", by_state, slopes)/UNITS',
        "    # One tensor: each result costs time in every call.",
        "    return tf.concat([gradient, value[None]], axis=0)",
    ]


def _backsolve(task: Task) -> list[str]:
    lines = ["    with tf.GradientTape() as tape:", "        tape.watch(theta)"]
    jacobian = "None"
    if script.has(task, "jacobian"):
        jacobian = "lambda t, z: jacobian(t, z*SCALE, *taken(theta))*(SCALE/SCALE[:, None])"
    if task.numbers.wrt == "parameters":
        first, p = '{"q": p/UNITS}', 'given.pop("q")*UNITS'
        if not task.numbers.n_named:
            first, p = "{}", "tf.zeros(0, tf.float64)"
        lines += [
            "        # The adjoint equation is told what is differentiated: the parameters, each in units of its size.",
            "        p, *networks = taken(theta)",
            f"        constants = {first}",
            '        constants |= {f"network{i}": weights for i, weights in enumerate(networks)}',
            "",
            "        def slopes(t, z, **given):",
            f"            p = {p}",
            "            return rhs(t, z*SCALE, p, *given.values())/SCALE",
            "",
            f"        ys = solved(slopes, {jacobian}, start(theta), constants)*SCALE",
        ]
    else:
        lines.append(f"        ys = solved(lambda t, z: scaled(t, z, theta), {jacobian}, start(theta))*SCALE")
    return [
        *lines,
        "        value = loss(ys)",
        "    # One tensor: each result costs time in every call.",
        "    return tf.concat([tf.convert_to_tensor(tape.gradient(value, theta)), value[None]], axis=0)",
    ]
