"""
The optimiser of the formula that sciml-bench pins (the docstring of its `Training`); `package` is Optimisers.jl.

Adam and AdamW of Optimisers.jl correct v before they take the root and add epsilon; AdamW is the coupled one, whose decay
has the learning rate as a factor. RMSProp adds epsilon to the root.
"""
function rule_of(package::Module, optimiser, numbers)
    eta, number = Float64(numbers["learning_rate"]), name -> Float64(numbers[name])
    optimiser == "sgd" && return package.Descent(eta)
    optimiser == "rmsprop" && return package.RMSProp(eta, number("decay"), number("epsilon"); centred = false)
    beta = (number("beta1"), number("beta2"))
    optimiser == "adam" && return package.Adam(eta, beta, number("epsilon"))
    optimiser == "adamw" &&
        return package.AdamW(eta, beta, number("weight_decay"), number("epsilon"); couple = true)
    throw(ArgumentError("there is no optimiser '$optimiser'"))
end
