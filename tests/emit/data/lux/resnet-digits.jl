# resnet-digits for Lux, emitted from its neutral spec 9ac6e03b87f7.

using Lux

function build_model()
    return Chain(;
        conv1 = Conv((3, 3), 1 => 16; pad = 1, cross_correlation = true),
        residual1 = SkipConnection(
            Chain(;
                norm1 = GroupNorm(16, 4, relu; epsilon = 1e-5),
                conv2 = Conv((3, 3), 16 => 16; pad = 1, cross_correlation = true),
                norm2 = GroupNorm(16, 4, relu; epsilon = 1e-5),
                conv3 = Conv((3, 3), 16 => 16; pad = 1, cross_correlation = true),
            ),
            +,
        ),
        residual2 = Parallel(
            +;
            body = Chain(;
                norm3 = GroupNorm(16, 4, relu; epsilon = 1e-5),
                conv4 = Conv((3, 3), 16 => 32; stride = 2, pad = 1, cross_correlation = true),
                norm4 = GroupNorm(32, 4, relu; epsilon = 1e-5),
                conv5 = Conv((3, 3), 32 => 32; pad = 1, cross_correlation = true),
            ),
            shortcut = Chain(;
                conv6 = Conv((1, 1), 16 => 32; stride = 2, cross_correlation = true),
            ),
        ),
        residual3 = SkipConnection(
            Chain(;
                norm5 = GroupNorm(32, 4, relu; epsilon = 1e-5),
                conv7 = Conv((3, 3), 32 => 32; pad = 1, cross_correlation = true),
                norm6 = GroupNorm(32, 4, relu; epsilon = 1e-5),
                conv8 = Conv((3, 3), 32 => 32; pad = 1, cross_correlation = true),
            ),
            +,
        ),
        norm7 = GroupNorm(32, 4, relu; epsilon = 1e-5),
        mean1 = GlobalMeanPool(),
        flatten1 = FlattenLayer(),
        dense1 = Dense(32 => 10),
    )
end

const loss = CrossEntropyLoss(; logits = Val(true))
