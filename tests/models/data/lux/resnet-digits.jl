# resnet-digits for Lux, emitted from its neutral spec 9ac6e03b87f7.

using Lux

function build_model()
    return Chain(
        Conv((3, 3), 1 => 16; pad = 1, cross_correlation = true),  # conv1
        SkipConnection(
            Chain(
                GroupNorm(16, 4, relu; epsilon = 1e-5),  # norm1
                Conv((3, 3), 16 => 16; pad = 1, cross_correlation = true),  # conv2
                GroupNorm(16, 4, relu; epsilon = 1e-5),  # norm2
                Conv((3, 3), 16 => 16; pad = 1, cross_correlation = true),  # conv3
            ),
            +,
        ),
        Parallel(
            +,
            Chain(
                GroupNorm(16, 4, relu; epsilon = 1e-5),  # norm3
                Conv((3, 3), 16 => 32; stride = 2, pad = 1, cross_correlation = true),  # conv4
                GroupNorm(32, 4, relu; epsilon = 1e-5),  # norm4
                Conv((3, 3), 32 => 32; pad = 1, cross_correlation = true),  # conv5
            ),
            Chain(
                Conv((1, 1), 16 => 32; stride = 2, cross_correlation = true),  # conv6
            ),
        ),
        SkipConnection(
            Chain(
                GroupNorm(32, 4, relu; epsilon = 1e-5),  # norm5
                Conv((3, 3), 32 => 32; pad = 1, cross_correlation = true),  # conv7
                GroupNorm(32, 4, relu; epsilon = 1e-5),  # norm6
                Conv((3, 3), 32 => 32; pad = 1, cross_correlation = true),  # conv8
            ),
            +,
        ),
        GroupNorm(32, 4, relu; epsilon = 1e-5),  # norm7
        GlobalMeanPool(),
        FlattenLayer(),
        Dense(32 => 10),  # dense1
    )
end

const loss = CrossEntropyLoss(; logits = Val(true))
