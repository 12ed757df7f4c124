"""The time at which y' = 1 reaches ``level``, and its derivative by ``level``."""

import torch
import torchdiffeq

torch.set_default_dtype(torch.float64)
TIME = torch.tensor(0.0)


def read_by_the_condition(level, interface):
    """The condition closes over the parameter."""
    options = {"odeint_interface": interface, "rtol": 1e-8, "atol": 1e-8}
    if interface is torchdiffeq.odeint_adjoint:
        options["adjoint_params"] = (level,)
    at, _ = torchdiffeq.odeint_event(
        lambda t, y: 0 * y + 1, torch.zeros(1), TIME, event_fn=lambda t, y: y - level, **options
    )
    return at


def a_state(level, interface):
    """The parameter is a state that stays constant."""
    start = torch.stack([torch.tensor(0.0), level])
    options = {"odeint_interface": interface, "rtol": 1e-8, "atol": 1e-8}
    if interface is torchdiffeq.odeint_adjoint:
        options["adjoint_params"] = ()
    at, _ = torchdiffeq.odeint_event(
        lambda t, y: 0 * y + torch.tensor([1.0, 0.0]),
        start,
        TIME,
        event_fn=lambda t, y: (y[0] - y[1]).reshape(1),
        **options,
    )
    return at


for interface in (torchdiffeq.odeint, torchdiffeq.odeint_adjoint):
    for time in (read_by_the_condition, a_state):
        level = torch.tensor(1.3, requires_grad=True)
        at = time(level, interface)
        (gradient,) = torch.autograd.grad(at, level, allow_unused=True) if at.requires_grad else (None,)
        way = f"{interface.__name__}, the parameter is {time.__name__.replace('_', ' ')}"
        print(f"{way}: {0.0 if gradient is None else float(gradient)!r}")
