"""What the engine does not do yet, by name, with the reason; and what takes it long."""

from __future__ import annotations

#: Well-posed files that are refused, and why.
REFUSED: dict[str, str] = {
    "cascade-through-1e-35": "an intermediate below the floor of what is followed",
    "delayed-growth-50": "the adjoint runs over more decades than doubles hold",
    "delayed-growth-200": "falls below what doubles hold",
    "drift-by-a-pulse-of-1e-26": "what grows is below the digits that are followed",
    "pulse-zero-net-1e-3": "a component that returns to nothing has no relative digits",
    "pulse-zero-net-1e-5": "a component that returns to nothing has no relative digits",
    "scale-1e-200": "below what is followed of a declared scale of one",
    "chain-of-tiny-rates": "an intermediate of 1e-60 below the floor of what is followed",
    "slave-1e20": "the adjoint's refinement does not converge at a stiffness of 1e20",
    # Given up at the limit of a file (judge.LIMIT_S), in steps that are still short.
    "lorenz-to-30": "not done in a minute: chaos",
    "decayed-then-amplified": "not done in a minute: a factor of 1e217 and another of 1e-217",
    "drift-of-1e-28": "not done in a minute: digits below those of 1",
    "drift-of-1e-43": "not done in a minute: digits below those of 1",
    "drift-of-1e-60": "not done in a minute: digits below those of 1",
    "drift-of-1e-80": "not done in a minute: digits below those of 1",
    "prothero-robinson-1e15-from-2": "not done in a minute: a gradient that vanishes in the first steps",
    "pulse-hidden-by-stiffness": "not done in a minute: digits are lost to a cancellation of 1e14",
}
#: Files on which the engine works for seconds or minutes.
DEAR: dict[str, str] = {
    "coefficient-sine-1e3": "a hundred and fifty periods",
    "coefficient-sine-1e5": "a hundred and fifty periods",
    "constraint-in-the-limit": "computed again for digits that the stiffness costs",
    "delayed-growth-20": "growth over 200 decades",
    "double-pendulum": "long expressions",
    "drift-of-1e-28": "digits below those of 1",
    "drift-of-1e-43": "digits below those of 1",
    "drift-of-1e-60": "digits below those of 1",
    "drift-of-1e-80": "digits below those of 1",
    "extinct-species-invades": "growth over 50 decades",
    "gradient-of-1e-868": "a derivative that no double holds",
    "lorenz-to-15": "chaos",
    "oscillation-100-periods": "a hundred periods",
    "pitchfork-ramped-1000": "growth over 200 decades",
    "prothero-robinson-1e15-from-2": "a gradient that vanishes in the first steps",
    "pulse-fermi": "a saturated exponential",
    "pulse-gauss-1e-16": "a search for a width of 1e-16",
    "pulse-hidden-by-stiffness": "digits are lost to a cancellation of 1e14",
    "pulse-zero-net-1e-3": "computed again for digits that are not to be had",
    "pulse-zero-net-1e-5": "computed again for digits that are not to be had",
    "seed-1e-300": "growth over 300 decades",
    "slave-1e20": "stiffness of 1e20",
    "symmetry-upright-pendulum": "rounding grows from pi",
    "time-saved-unevenly": "saved times over 15 decades",
    "window-negligible-then-growing": "growth over 174 decades",
    "window-sawtooth": "jumps that no condition shows",
    "window-sine-fast": "318 switches",
    "window-triangle-wave": "kinks that no condition shows",
}
#: Files on which it is wrong today; they are held against their truths once it is not.
UNDER_WAY: dict[str, str] = {}
#: One file or two of each kind, which are tried by default.
ONE_OF_EACH = (
    "abs-crossing", "abs-not-crossing", "cascade-through-1e-35", "chirp", "davis-skodje-1e8", "delayed-growth-3",
    "flame-from-1e-4", "flat-inside", "front-tanh-1e-5",
    "gradient-1e20", "gradient-at-zero-parameter", "gradient-exactly-zero", "gradient-loss-zero",
    "gradient-of-a-power", "gradient-opposite", "gradient-through-a-zero-state", "gradient-trace-1e-150",
    "ill-asin-beyond-one", "ill-blow-up", "ill-blow-up-at-the-end", "ill-dry-friction", "ill-log-of-a-state",
    "ill-loss-kink", "ill-pole-at-a-saved-time", "ill-pole-irrational", "ill-root-at-zero",
    "ill-sliding", "ill-standstill", "log-of-a-seed", "manifold-left-by-1e-100", "near-a-pole",
    "near-a-standstill", "power-41", "prothero-robinson-1e10-from-1", "pulse-comb", "pulse-cut-by-the-end",
    "pulse-faint-1e-15-1e-3", "pulse-gauss-1e-3", "pulse-gauss-1e-8", "pulse-gauss-at-saved-time", "pulse-phase-jump",
    "pulse-rational-1e-6", "pulse-seen-through-decay", "resonance", "saddle-from-1e-45", "scale-1e-200",
    "scale-mixed", "singular-root", "slave-1e12", "stiffness-switched-on", "symmetry-rigid-body",
    "time-from-a-million", "time-of-1e-12", "window-1e-12", "window-accumulating", "window-cancelling",
    "window-declared-irrational", "window-never", "window-off-by-1e-30", "window-touching-both-ends",
)  # fmt: skip
