// Kernels are compiled once per instruction set; which of them this machine can run.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/require.hpp"

namespace hstar {

inline size_t num_instruction_sets() {
#ifdef HSTAR_X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl")
               ? 3
               : 2;
#else
    return 1;
#endif
}

#ifdef HSTAR_X86
inline bool has_vnni() {
    return num_instruction_sets() == 3 && __builtin_cpu_supports("avx512vnni");
}
#endif

template <class Kernel>
std::vector<Kernel> runnable_kernels(std::initializer_list<Kernel (*)()> variants) {
    std::vector<Kernel> kernels;
    for (auto make : variants)
        if (kernels.size() < num_instruction_sets()) kernels.push_back(make());
    return kernels;
}

// The kernels `name`_portable() and so on that this machine can run, the fastest last.
#ifdef HSTAR_X86
#define HSTAR_KERNELS(name) runnable_kernels({name##_portable, name##_avx2, name##_avx512})
#else
#define HSTAR_KERNELS(name) runnable_kernels({name##_portable})
#endif

// The kernel of a name, or the fastest if the name is empty. Throws std::invalid_argument.
template <class Kernel>
Kernel choose_kernel(const std::vector<Kernel>& kernels, const std::string& name) {
    if (name.empty()) return kernels.back();
    for (const Kernel& kernel : kernels)
        if (name == kernel.name) return kernel;
    refuse("this machine has no kernel '", name, "'");
}

}  // namespace hstar
