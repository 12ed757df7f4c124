# lenet-mnist-synthetic for SimpleChains, emitted from its neutral spec 8beedc752481.

using SimpleChains

function build_model()
    return SimpleChain(
        (static(28), static(28), static(1)),
        Conv(relu, (5, 5), 6),  # conv1
        MaxPool(2, 2),
        Conv(relu, (5, 5), 16),  # conv2
        MaxPool(2, 2),
        Flatten(3),
        TurboDense(relu, 120),  # dense1
        TurboDense(relu, 84),  # dense2
        TurboDense(identity, 10),  # dense3
    )
end

const loss = LogitCrossEntropyLoss
