# beam for Julia, emitted from its neutral spec a0bbb3dec6b0.

const N_STATES = 80
const N_PARAMETERS = 1
const HAS_BRANCHES = true
const STENCILS = nothing
const VECTOR_diagonal = [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0]

function solve_tridiagonal!(b, lower, diagonal, upper)
    n = length(b)
    @inbounds for i in 2:n
        factor = lower[i]/diagonal[i - 1]
        diagonal[i] -= factor*upper[i - 1]
        b[i] -= factor*b[i - 1]
    end
    @inbounds b[n] /= diagonal[n]
    @inbounds for i in (n - 1):-1:1
        b[i] = (b[i] - upper[i]*b[i + 1])/diagonal[i]
    end
    return b
end

function rhs!(dy, y, p, t)
    amplitude = p[1]
    force = !(t >= 3.141592653589793)*(amplitude*sin(t)^2)
    v_values = similar(dy, 40)
    @inbounds for i in 1:40
        theta = y[i]
        theta_i_next = i <= 39 ? y[i + 1] : y[40]
        theta_i_last = i > 1 ? y[i - 1] : -y[1]
        v_values[i] = 1600*force*(sin(theta) + cos(theta)) - 5120000.0*theta + 2560000.0*theta_i_last + 2560000.0*theta_i_next
    end
    s_values = similar(dy, 40)
    @inbounds for i in 1:40
        theta = y[i]
        theta_i_last = i > 1 ? y[i - 1] : zero(eltype(dy))
        s_values[i] = sin(theta - theta_i_last)
    end
    c_values = similar(dy, 40)
    @inbounds for i in 1:40
        theta = y[i]
        theta_i_last = i > 1 ? y[i - 1] : zero(eltype(dy))
        c_values[i] = cos(theta - theta_i_last)
    end
    cr_values = similar(dy, 40)
    @inbounds for i in 1:40
        c_i_next = i <= 39 ? c_values[i + 1] : zero(eltype(dy))
        cr_values[i] = c_i_next
    end
    g_values = similar(dy, 40)
    @inbounds for i in 1:40
        omega = y[40 + i]
        s_i_next = i <= 39 ? s_values[i + 1] : zero(eltype(dy))
        v_i_next = i <= 39 ? v_values[i + 1] : zero(eltype(dy))
        s = s_values[i]
        v_i_last = i > 1 ? v_values[i - 1] : zero(eltype(dy))
        g_values[i] = omega^2 - s*v_i_last + s_i_next*v_i_next
    end
    lower_values = similar(dy, 40)
    diagonal_2_values = similar(dy, 40)
    upper_values = similar(dy, 40)
    solution_values = similar(dy, 40)
    @inbounds for i in 1:40
        c = c_values[i]
        diagonal = VECTOR_diagonal[i]
        cr = cr_values[i]
        g = g_values[i]
        lower_values[i] = -c
        diagonal_2_values[i] = diagonal
        upper_values[i] = -cr
        solution_values[i] = g
    end
    solve_tridiagonal!(solution_values, lower_values, diagonal_2_values, upper_values)
    w_values = similar(dy, 40)
    @inbounds for i in 1:40
        solution = solution_values[i]
        w_values[i] = solution
    end
    @inbounds for i in 1:40
        omega = y[40 + i]
        diagonal = VECTOR_diagonal[i]
        v = v_values[i]
        s_i_next = i <= 39 ? s_values[i + 1] : zero(eltype(dy))
        w_i_next = i <= 39 ? w_values[i + 1] : zero(eltype(dy))
        c = c_values[i]
        v_i_last = i > 1 ? v_values[i - 1] : zero(eltype(dy))
        cr = cr_values[i]
        v_i_next = i <= 39 ? v_values[i + 1] : zero(eltype(dy))
        s = s_values[i]
        w_i_last = i > 1 ? w_values[i - 1] : zero(eltype(dy))
        dy[i] = omega
        dy[40 + i] = -c*v_i_last - cr*v_i_next + diagonal*v - s*w_i_last + s_i_next*w_i_next
    end
    return nothing
end

const LOSS_SCALE = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]

loss(ys) = sum(y -> sum(abs2, y ./ LOSS_SCALE), ys)
