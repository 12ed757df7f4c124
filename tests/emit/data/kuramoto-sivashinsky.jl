# kuramoto-sivashinsky for Julia, emitted from its neutral spec ec70bf8076e8.

const N_STATES = 128
const N_PARAMETERS = 1
const HAS_BRANCHES = false
# Which elements of the state the equations read, as places on the grid: the structure of the Jacobian.
const STENCILS = (shape = (128,), wraps = (true,), blocks = [
    (row = 0, column = 0, offsets = [(-2,), (-1,), (0,), (1,), (2,)]),
])

function rhs!(dy, y, p, t)
    alpha = p[1]
    curvature_values = similar(dy, 128)
    @inbounds for i in 1:128
        i_next = i == 128 ? 1 : i + 1
        i_last = i == 1 ? 128 : i - 1
        u_i_next = y[i_next]
        u_i_last = y[i_last]
        u = y[i]
        curvature_values[i] = -32*u + 16*u_i_last + 16*u_i_next
    end
    @inbounds for i in 1:128
        i_next = i == 128 ? 1 : i + 1
        i_last = i == 1 ? 128 : i - 1
        curvature = curvature_values[i]
        u_i_next = y[i_next]
        u_i_last = y[i_last]
        curvature_i_next = curvature_values[i_next]
        curvature_i_last = curvature_values[i_last]
        u = y[i]
        dy[i] = -alpha*(-3.5*curvature + 2*curvature_i_last + 2*curvature_i_next + 0.3333333333333333*u*(-2*u_i_last + 2*u_i_next) - 0.6666666666666666*u_i_last^2 + 0.6666666666666666*u_i_next^2)
    end
    return nothing
end

loss(ys) = sum(y -> sum(abs2, y), ys)
