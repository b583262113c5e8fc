// Sparse inputs of Neural Logic Machines.
#pragma once

namespace hstar {

// A number in the input tensors: X[arity] at tuple * channels + channel.
struct NlmEntry {
    int arity, index;
};

}  // namespace hstar
