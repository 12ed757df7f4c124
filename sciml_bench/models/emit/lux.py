"""A model as a Lux chain, with the neutral names of layers.

Images lie as (width, height, channels, batch), tokens as (width, positions, batch), and labels are one-hot.
"""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.models.emit.lines import indented
from sciml_bench.models.layer import EPSILON, Layer, walk
from sciml_bench.models.model import Model

_EPSILON = f"{EPSILON:g}".replace("e-0", "e-")

# Of what Lux calls gelu NNlib has more than one; the exact one is by the error function.
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu_erf", "tanh": "tanh"}

# Functions of NNlib, each with the kind of layer that needs it.
_FUNCTIONS = {
    "batched_mul": "attention", "batched_transpose": "attention", "gelu_erf": "gelu", "make_causal_mask": "attention",
    "maxpool": "max_pool",
}  # fmt: skip

# ChainRulesCore's version.
_RULES = {
    "ChainRulesCore": "max_pool", "NoTangent": "max_pool", "ignore_derivatives": "attention", "unthunk": "max_pool",
}  # fmt: skip

# Lux's layers that apply an activation themselves, without another pass over memory.
_ACTIVATED = ("conv2d", "dense", "group_norm", "layer_norm")

# Lux's name of an option of a convolution, its neutral name, and its default.
_CONV_OPTIONS = (("stride", "stride", 1), ("pad", "padding", 0))

# Lux's MultiHeadAttention takes dimensions as numbers and permutes by them, which hides types from Zygote: a gradient
# of a small batch takes three times as long. With NNlib's dot_product_attention it takes longest to compile.
_ATTENTION = """
struct Attention{Q, K, V, P} <: Lux.AbstractLuxContainerLayer{(:q, :k, :v, :project)}
    q::Q
    k::K
    v::V
    project::P
    heads::Int
    causal::Bool
end

Attention(width; heads, causal) = Attention(ntuple(_ -> Dense(width => width), 4)..., heads, causal)

function (layer::Attention)(x, ps, st)
    q = heads_apart(first(layer.q(x, ps.q, st.q)), layer.heads)
    k = heads_apart(first(layer.k(x, ps.k, st.k)), layer.heads)
    v = heads_apart(first(layer.v(x, ps.v, st.v)), layer.heads)
    scores = batched_mul(batched_transpose(k), q ./ sqrt(eltype(q)(size(q, 1))))
    scores = layer.causal ? scores .+ no_future(scores) : scores
    y = heads_together(batched_mul(v, softmax(scores; dims = 1)), size(x))
    return first(layer.project(y, ps.project, st.project)), st
end

# From (width, positions, batch) to (width of a head, positions, heads and batch), and back.
function heads_apart(x, heads)
    width, positions, batch = size(x)
    apart = permutedims(reshape(x, width ÷ heads, heads, positions, batch), (1, 3, 2, 4))
    return reshape(apart, width ÷ heads, positions, heads * batch)
end

function heads_together(x, (width, positions, batch))
    together = permutedims(reshape(x, size(x, 1), positions, :, batch), (1, 3, 2, 4))
    return reshape(together, width, positions, batch)
end

# Rows are keys, columns are queries.
function no_future(scores)
    ignore_derivatives() do
        ifelse.(make_causal_mask(scores), zero(eltype(scores)), typemin(eltype(scores)))
    end
end
"""

_POSITIONS = """
struct Positions <: Lux.AbstractLuxLayer
    width::Int
    count::Int
end

function Lux.initialparameters(rng::AbstractRNG, layer::Positions)
    return (; weight = zeros32(rng, layer.width, layer.count))
end

(::Positions)(x, ps, st) = x .+ ps.weight, st
"""

# The gradient of NNlib's maxpool (0.9.36, pooling_direct.jl) goes to the first pixel that is ≈ the maximum. In single
# precision numbers are that up to 3e-4 apart, and LeNet's gradient is off by 3e-3.
_MAX_POOL = """
# Lux's MaxPool except its gradient, which goes to the first pixel that is ≈ the maximum; here it has to be equal.
struct ExactMaxPool <: Lux.AbstractLuxLayer
    window::Int
end

(layer::ExactMaxPool)(x, ps, st) = window_maxima(x, layer.window), st

window_maxima(x, window) = maxpool(x, (window, window))

function ChainRulesCore.rrule(::typeof(window_maxima), x, window)
    y = window_maxima(x, window)
    function pullback(thunk)
        dy, dx = unthunk(thunk), zero(x)
        @inbounds for place in CartesianIndices(y)
            w, h, channel, sample = Tuple(place)
            for j in (window * (h - 1) + 1):(window * h), i in (window * (w - 1) + 1):(window * w)
                if x[i, j, channel, sample] == y[place]
                    dx[i, j, channel, sample] = dy[place]
                    break
                end
            end
        end
        return NoTangent(), dx, NoTangent()
    end
    return y, pullback
end
"""

_LOSSES = {
    "cross_entropy": "const loss = CrossEntropyLoss(; logits = Val(true))",
    "mean_square": "loss(outputs, labels) = mean(abs2, outputs)",
}


def lux_source(model: Model) -> str:
    """A file with ``build_model()``, whose layers have the order of theta, and ``loss``."""
    chain = _chain(model.layers)
    code = "\n".join([*chain, _LOSSES[model.loss]])
    kinds = {layer.kind for layer in walk(model.layers)}
    own = {"max_pool": _MAX_POOL, "attention": _ATTENTION, "positions": _POSITIONS}
    functions = [name for name, needed in _FUNCTIONS.items() if needed in kinds]
    rules = [name for name, needed in _RULES.items() if needed in kinds]
    lines = [
        f"# {model.name} for Lux, emitted from its neutral spec {model.spec_hash[:12]}.",
        "",
        *([f"using ChainRulesCore: {', '.join(rules)}"] if rules else []),
        "using Lux",
        *([f"using Lux.NNlib: {', '.join(functions)}"] if functions else []),
        *(["using Random: AbstractRNG"] if "positions" in kinds else []),
        *(["using Statistics: mean"] if "mean(" in code else []),
        *([text for kind, text in own.items() if kind in kinds] or [""]),
        "function build_model()",
        *indented([f"return {chain[0]}", *chain[1:]]),
        "end",
        "",
        _LOSSES[model.loss],
    ]
    return "\n".join(lines) + "\n"


def _chain(layers: tuple[Layer, ...]) -> list[str]:
    """The lines of a ``Chain``, without anything before or after it.

    Its layers are unnamed, so that equal blocks have one type and are compiled once.
    """
    lines = ["Chain("]
    for layer, activation in _activated(layers):
        for code in _members(layer, activation):
            lines += indented(code)
            lines[-1] += f",  # {layer.name}" if layer.name else ","
    return [*lines, ")"]


def _activated(layers: tuple[Layer, ...]) -> Iterator[tuple[Layer, str]]:
    """Each layer with the activation that it applies; activations that a layer takes in stand no longer alone."""
    taken = False
    for number, layer in enumerate(layers):
        if taken:
            taken = False
            continue
        after = layers[number + 1].kind if number + 1 < len(layers) else ""
        taken = layer.kind in _ACTIVATED and after in _ACTIVATIONS
        yield layer, _ACTIVATIONS[after] if taken else ""


def _members(layer: Layer, activation: str) -> list[list[str]]:
    """A layer in a chain: the lines of one layer of Lux or two."""
    if layer.kind == "residual":
        return [_residual(layer)]
    if layer.kind == "mean" and len(layer.input) == 3:
        return [["GlobalMeanPool()"], ["FlattenLayer()"]]
    return [[_weighted(layer, activation) if layer.slots else _plain(layer)]]


def _residual(layer: Layer) -> list[str]:
    body, shortcut = _chain(layer.body), _chain(layer.shortcut)
    body[-1] += ","
    shortcut[-1] += ","
    if not layer.shortcut:
        return ["SkipConnection(", *indented([*body, "+,"]), ")"]
    return ["Parallel(", *indented(["+,", *body, *shortcut]), ")"]


def _weighted(layer: Layer, activation: str) -> str:
    n = layer.numbers
    act = f", {activation}" if activation else ""
    match layer.kind:
        case "conv2d":
            k = n["kernel"]
            options = [f"{key} = {n[name]}" for key, name, usual in _CONV_OPTIONS if n[name] != usual]
            # Lux's convolution flips its kernels by default.
            named = ", ".join([*options, "cross_correlation = true"])
            return f"Conv(({k}, {k}), {n['inputs']} => {n['channels']}{act}; {named})"
        case "dense":
            return f"Dense({n['inputs']} => {n['width']}{act})"
        case "embedding":
            return f"Embedding({n['count']} => {n['width']})"
        case "positions":
            return f"Positions({n['width']}, {n['count']})"
        case "group_norm":
            return f"GroupNorm({n['width']}, {n['groups']}{act}; epsilon = {_EPSILON})"
        case "layer_norm":
            return f"LayerNorm(({n['width']}, 1){act}; dims = 1, epsilon = {_EPSILON})"
        case "attention":
            return f"Attention({n['width']}; heads = {n['heads']}, causal = {'true' if n['causal'] else 'false'})"
    raise ValueError(layer.kind)


def _plain(layer: Layer) -> str:
    match layer.kind:
        case "relu" | "gelu" | "tanh":
            return f"WrappedFunction(x -> {_ACTIVATIONS[layer.kind]}.(x))"
        case "max_pool":
            return f"ExactMaxPool({layer.numbers['size']})"
        case "mean_pool":
            return f"MeanPool(({layer.numbers['size']}, {layer.numbers['size']}))"
        case "mean":
            return "WrappedFunction(x -> dropdims(mean(x; dims = 2); dims = 2))"
        case "flatten":
            return "FlattenLayer()"
        case "tokens":
            # Pixels lie row by row, as the neutral definition has them.
            return "WrappedFunction(x -> permutedims(reshape(x, :, size(x, 3), size(x, 4)), (2, 1, 3)))"
    raise ValueError(layer.kind)
