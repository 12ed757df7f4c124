# matrix-exponential for SimpleChains, emitted from its neutral spec 16aa766aa2ed.

using SimpleChains

function build_model()
    return SimpleChain(
        (static(4),),
        TurboDense(tanh, 32),  # dense1
        TurboDense(tanh, 16),  # dense2
        TurboDense(identity, 4),  # dense3
    )
end

const loss = SquaredLoss
