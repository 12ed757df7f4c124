"""A TensorFlow cell as a script: what ``program.py`` does for it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.segments import split
from sciml_bench.adapters.tensorflow import BDF, FORWARD, RK4, UNROLLED
from sciml_bench.adapters.tensorflow.shares import shares, sizes
from sciml_bench.adapters.time_grid import fixed_steps
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    quiet = ("import os", "", 'os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")', "")
    fixed = task.cell.method == RK4.name
    return script.joined(
        script.head(
            task, "tensorflow and numpy" if fixed else "tensorflow, tensorflow-probability, tf-keras and numpy"
        ),
        f"{script.imports(task, *_needed(task), first=quiet)}\n\n{_threads(task.threads)}",
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(task)]),
        "\n".join(_steps(task, point) if fixed else _solver(task)),
        "\n".join(_solved(task)),
        "\n".join(_start(task)),
        "\n".join(_augmented(task)) if _is_forward(task) else "",
        _gradient(task),
        script.check(task, "tf.constant({})", "_gradient(theta).numpy()"),
    )


def _needed(task: Task) -> tuple[str, ...]:
    fixed = task.cell.method == RK4.name
    return ("import tensorflow as tf", *(() if fixed else ("import tensorflow_probability as tfp",)))


def _is_forward(task: Task) -> bool:
    return task.cell.sensitivity == FORWARD


def _threads(count: int) -> str:
    return "\n".join(f"tf.config.threading.set_{kind}_op_parallelism_threads({count})" for kind in ("intra", "inter"))


def _numbers(task: Task) -> list[str]:
    cell, values = task.cell, task.numbers
    if cell.method == RK4.name:
        lines = ["SCALE = np.ones_like(SCALE)"]
    else:
        uniform = len(set(values.atol_scale[: values.n_states])) == 1
        lines = [
            "# Solvers take one absolute tolerance: if scales differ, they get the state in units of its scale.",
            *(["ATOL, SCALE = ATOL[0], np.ones_like(SCALE)"] if uniform else ["ATOL = ATOL[0]/SCALE[0]"]),
        ]
    lines += [
        f"SHAPE = {(values.n_states,) if values.batch == 1 else (values.batch, values.n_states)}",
        "# Start, times, how many of them are saved, and the bounds of t, of each smooth part of the time span.",
        "PARTS = [",
    ]
    for part in split(values):
        bounds = f"float({str(part.low)!r}), float({str(part.high)!r})"
        lines.append(f"    ({part.start!r}, np.array({list(part.times)!r}), {part.n_saved}, {bounds}),")
    lines.append("]")
    if cell.sensitivity == FORWARD:
        lines += ["# What the components of theta are measured in.", script.numbers("UNITS", sizes(values).tolist())]
    elif values.wrt == "parameters" and cell.method != RK4.name:
        units = script.numbers("UNITS", values.p_scale[: values.n_named])
        lines += ["# What the named parameters are measured in.", units]
    return lines


def _solver(task: Task) -> list[str]:
    if task.cell.method != BDF.name:
        return ["SOLVER = tfp.math.ode.DormandPrince(rtol=RTOL, atol=ATOL, max_num_steps=2**16)"]
    if _is_forward(task):
        return ["SOLVER = tfp.math.ode.BDF(rtol=RTOL, atol=ATOL, max_num_steps=2**16)"]
    return [
        "class Checked(tfp.math.ode.BDF):",
        '    """BDF that returns no number if it stops early: the adjoint solve does not look at its status."""',
        "",
        "    def solve(self, *args, **kwargs):",
        "        found = super().solve(*args, **kwargs)",
        "        reached = tf.equal(found.diagnostics.status, 0)",
        "        nan = lambda part: tf.where(reached, part, tf.constant(np.nan, part.dtype))",
        "        return found._replace(states=tf.nest.map_structure(nan, found.states))",
        "",
        "",
        "ADJOINT = Checked(rtol=RTOL, atol=ATOL, max_num_steps=2**13)",
        "SOLVER = tfp.math.ode.BDF(",
        "    rtol=RTOL, atol=0.01*ATOL, max_num_steps=2**16, make_adjoint_solver_fn=lambda: ADJOINT",
        ")",
    ]


def _solved(task: Task) -> list[str]:
    clipped = "tf.clip_by_value(t, low, high)" if task.numbers.breakpoints else "t"
    if task.cell.method == RK4.name:
        return [
            "def solved(slopes, state):",
            '    """The values at the saved times; slopes takes t, in the part\'s bounds, and the values."""',
            "    saved = []",
            "    for start, times, n_saved, low, high in PARTS:",
            f"        states = in_steps(lambda t, z: slopes({clipped}, z), state, np.array([start, *times]))",
            "        state = states[-1]",
            "        saved.append(states[:n_saved])",
            "    return tf.concat(saved, axis=0)",
        ]
    return [
        "def solved(slopes, jacobian, state, constants=None):",
        '    """The values at the saved times; the functions take t, in the part\'s bounds, and the values."""',
        "    saved = []",
        "    for start, times, n_saved, low, high in PARTS:",
        "        found = SOLVER.solve(",
        f"            lambda t, z, low=low, high=high, **given: slopes({clipped}, z, **given),",
        "            initial_time=start, initial_state=state, solution_times=times,",
        f"            jacobian_fn=jacobian and (lambda t, z, low=low, high=high: jacobian({clipped}, z)),",
        "            constants=constants,",
        "        )",
        "        reached = tf.equal(found.diagnostics.status, 0)",
        '        states = tf.where(reached, found.states, tf.constant(float("nan"), tf.float64))',
        "        state = states[-1]",
        "        saved.append(states[:n_saved])",
        "    return tf.concat(saved, axis=0)",
    ]


def _steps(task: Task, point: Point) -> list[str]:
    """The classical Runge-Kutta method: in a loop, or each step written into the graph."""
    lines = [
        f"STEPS_PER_UNIT = {fixed_steps(RK4.order, point.rtol)}/(T1 - T0)",
        "",
        "",
        "def step(f, t, y, h):",
        "    k1 = f(t, y)",
        "    k2 = f(t + h/2, y + h/2*k1)",
        "    k3 = f(t + h/2, y + h/2*k2)",
        "    k4 = f(t + h, y + h*k3)",
        "    return y + h/6*(k1 + 2*k2 + 2*k3 + k4)",
        "",
        "",
        "def in_steps(f, y, times):",
        '    """The values at times[1:], by equal steps between each two of them."""',
        "    counts = np.maximum(1, np.ceil(np.diff(times)*STEPS_PER_UNIT*(1 - 1e-9)).astype(int))",
        "    pieces = [np.linspace(*times[i : i + 2], n, endpoint=False) for i, n in enumerate(counts)]",
        "    t = np.concatenate([*pieces, times[-1:]])",
        "    h, saved = np.diff(t), np.cumsum(counts) - 1",
    ]
    if task.cell.mode == UNROLLED:
        return [
            *lines,
            "    states = []",
            "    for i in range(len(h)):",
            "        y = step(f, tf.constant(t[i]), y, tf.constant(h[i]))",
            "        if i in saved:",
            "            states.append(y)",
            "    return tf.stack(states)",
        ]
    return [
        *lines,
        "    starts, sizes = tf.constant(t[:-1]), tf.constant(h)",
        "",
        "    def body(i, y, states):",
        "        y = step(f, starts[i], y, sizes[i])",
        "        return i + 1, y, states.write(i, y)",
        "",
        "    states = tf.TensorArray(y.dtype, size=len(h), element_shape=y.shape)",
        "    # XLA differentiates only loops with a known number of iterations.",
        "    *_, states = tf.while_loop(lambda i, *_: i < len(h), body, (0, y, states), maximum_iterations=len(h))",
        "    return tf.gather(states.stack(), saved)",
    ]


def _start(task: Task) -> list[str]:
    """Functions of theta: the scaled initial state, what ``rhs`` takes after t and y, and the loss."""
    parameters = task.numbers.wrt == "parameters"
    arguments = "arguments(theta)" if script.has(task, "arguments") else "(theta,)"
    if script.has(task, "GIVEN"):
        used = "(named, *(networks[i] for i in RHS_NETWORKS))" if script.has(task, "RHS_NETWORKS") else "(named,)"
        start = ["    return starts(theta)[0]/SCALE"]
        taken = [f"    named, *networks = {arguments}", f"    return {used}"]
        total = [f"    return loss(ys, *GIVEN, *{arguments}) + starts(theta)[1]"]
        before = [
            "def starts(theta):",
            '    """The initial state and the penalty of the loss."""',
            f"    found = initial_state(*GIVEN, *{arguments})",
            "    return found if isinstance(found, tuple) else (found, 0.0)",
            "",
            "",
        ]
    else:
        start = [f"    return tf.reshape({'tf.constant(Y0)' if parameters else 'theta'}, SHAPE)/SCALE"]
        taken = [f"    return {arguments if parameters else '(tf.constant(P),)'}"]
        total, before = ["    return loss(ys)"], []
    return [
        *before,
        "def start(theta):", *start, "", "",
        "def taken(theta):", *taken, "", "",
        "def total(ys, theta):", *total, "", "",
        "def scaled(t, z, theta):",
        "    return rhs(t, z*SCALE, *taken(theta))/SCALE",
    ]  # fmt: skip


def _parts(task: Task) -> list[list[int]]:
    """The components of theta whose sensitivities are solved for together."""
    values = task.numbers
    if task.cell.method != BDF.name:
        return [list(range(len(values.theta)))]
    return shares(len(values.y0), len(values.theta))


def _augmented(task: Task) -> list[str]:
    """The state and its sensitivities along some directions as one system."""
    values, parts = task.numbers, _parts(task)
    n, m = len(values.y0), len(parts[0])
    lines = [
        f"N, M = {n}, {m}",
        *(
            ["DIRECTIONS = tf.constant(np.diag(UNITS))"]
            if len(parts) == 1
            else [
                "# The cost of a Newton matrix grows with its cube: sensitivities are solved for in shares.",
                f"DIRECTIONS = tf.constant(np.diag(UNITS)[{parts!r}])",
            ]
        ),
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
        "def augmented(t, values, theta, directions):",
        "    together = tf.reshape(values, (1 + M, *SHAPE))",
        "    z, w = together[0], together[1:]",
        "    slopes = along(lambda z, theta: scaled(t, z, theta), z, theta, w, directions)",
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
            "    units = tf.reshape(tf.eye(N, dtype=z.dtype), (N, *SHAPE))",
            "    nowhere = tf.zeros((N, len(UNITS)), theta.dtype)",
            "    columns = along(lambda z, theta: scaled(t, z, theta), z, theta, units, nowhere)",
            "    return tf.transpose(tf.reshape(columns, (N, N)))",
        ]
    lines += [
        "",
        "",
        "def augmented_jacobian(t, values, theta, directions):",
        "    together = tf.reshape(values, (1 + M, *SHAPE))",
        "    z, w = together[0], together[1:]",
        "    diagonal = tf.eye(1 + M, dtype=z.dtype)[:, None, :, None]*block(t, z, theta)[None, :, None, :]",
        "    matrix = tf.reshape(diagonal, (N*(1 + M), N*(1 + M)))",
    ]
    if not known or len(parts) > 1:
        return [*lines, "    return matrix"]
    return [
        *lines,
        "    below = along(lambda z, theta: block(t, z, theta), z, theta, w, directions)",
        "    return matrix + tf.pad(tf.reshape(below, (N*M, N)), [[N, 0], [0, N*M]])",
    ]


def _gradient(task: Task) -> str:
    if task.cell.method == RK4.name:
        body = _through_steps()
    else:
        body = _forward(task) if _is_forward(task) else _backsolve(task)
    return "\n".join(
        [
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


_ONE_TENSOR = "    # One tensor: each result costs time in every call."


def _forward(task: Task) -> list[str]:
    bdf, several = task.cell.method == BDF.name, len(_parts(task)) > 1
    jacobian = "lambda t, z: augmented_jacobian(t, z, theta, directions)" if bdf else "None"
    collected = ["    together = share(DIRECTIONS)", "    ys, slopes = together[:, 0], together[:, 1:]"]
    if several:
        collected = [
            "    # One after the other in a loop, which is compiled once for all.",
            "    parts = tf.map_fn(share, DIRECTIONS)",
            "    ys, slopes = parts[0, :, 0], tf.transpose(parts[:, :, 1:], (1, 0, 2, *range(3, 3 + len(SHAPE))))",
        ]
    return [
        "    def share(directions):",
        "        first = start(theta)",
        "        nowhere = tf.zeros((M, *SHAPE), theta.dtype)",
        "        changes = along(lambda _, theta: start(theta), first, theta, nowhere, directions)",
        "        state = tf.concat([tf.reshape(first, (-1,)), tf.reshape(changes, (-1,))], axis=0)",
        f"        found = solved(lambda t, z: augmented(t, z, theta, directions), {jacobian}, state)",
        "        return tf.reshape(found, (-1, 1 + M, *SHAPE))*SCALE",
        "",
        *collected,
        "    slopes = tf.reshape(slopes, (len(SAVED), -1, N))",
        "    with tf.GradientTape() as tape:",
        "        tape.watch([theta, ys])",
        "        value = total(ys, theta)",
        "    zero = tf.UnconnectedGradients.ZERO",
        "    directly, by_state = tape.gradient(value, [theta, ys], unconnected_gradients=zero)",
        "    weights = tf.reshape(tf.convert_to_tensor(by_state), (len(SAVED), N))",
        '    gradient = directly + tf.einsum("ti,tji->j", weights, slopes)[: len(UNITS)]/UNITS',
        _ONE_TENSOR,
        "    return tf.concat([gradient, value[None]], axis=0)",
    ]


def _through_steps() -> list[str]:
    return [
        "    with tf.GradientTape() as tape:",
        "        tape.watch(theta)",
        "        args = taken(theta)",
        "        ys = solved(lambda t, z: rhs(t, z, *args), start(theta))",
        "        value = total(ys, theta)",
        _ONE_TENSOR,
        "    return tf.concat([tf.convert_to_tensor(tape.gradient(value, theta)), value[None]], axis=0)",
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
            "        # The adjoint equation gets the parameters to differentiate by, each in units of its size.",
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
        "        value = total(ys, theta)",
        _ONE_TENSOR,
        "    return tf.concat([tf.convert_to_tensor(tape.gradient(value, theta)), value[None]], axis=0)",
    ]
