# brusselator-2d for Julia, emitted from its neutral spec 2472cf72066d.

const N_STATES = 128
const N_PARAMETERS = 4
const HAS_BRANCHES = true
# Which elements of the state the equations read, as places on the grid: the structure of the Jacobian.
const STENCILS = (shape = (8, 8), wraps = (true, true), blocks = [
    (row = 0, column = 0, offsets = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]),
    (row = 0, column = 64, offsets = [(0, 0)]),
    (row = 64, column = 0, offsets = [(0, 0)]),
    (row = 64, column = 64, offsets = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]),
])
const GRID_x = collect(range(0.0, 1.0, 8))
const GRID_y = collect(range(0.0, 1.0, 8))
const STATIC__0 = vec([(GRID_x[i] - 0.3)^2 + (GRID_y[j] - 0.6)^2 <= 0.01 for j in 1:8, i in 1:8])

@inline at(i, j) = 8*(i - 1) + j

function rhs!(dy, y, p, t)
    A = p[1]
    B = p[2]
    alpha = p[3]
    strength = p[4]
    @inbounds for i in 1:8, j in 1:8
        i_next = i == 8 ? 1 : i + 1
        i_last = i == 1 ? 8 : i - 1
        j_next = j == 8 ? 1 : j + 1
        j_last = j == 1 ? 8 : j - 1
        static__0 = STATIC__0[at(i, j)]
        u_i_next = y[at(i_next, j)]
        u_i_last = y[at(i_last, j)]
        u = y[at(i, j)]
        u_j_next = y[at(i, j_next)]
        u_j_last = y[at(i, j_last)]
        v = y[64 + at(i, j)]
        v_i_next = y[64 + at(i_next, j)]
        v_i_last = y[64 + at(i_last, j)]
        v_j_next = y[64 + at(i, j_next)]
        v_j_last = y[64 + at(i, j_last)]
        c0 = u^2*v
        dy[at(i, j)] = B + alpha*(-196*u + 49*u_i_last + 49*u_i_next + 49*u_j_last + 49*u_j_next) + c0 - u*(A + 1) + (static__0 & (t >= 1.1))*strength
        dy[64 + at(i, j)] = A*u + alpha*(-196*v + 49*v_i_last + 49*v_i_next + 49*v_j_last + 49*v_j_next) - c0
    end
    return nothing
end

loss(ys) = sum(y -> sum(abs2, y), ys)
