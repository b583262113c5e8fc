#include "networks/integer/amx_permission.hpp"

#if defined(HSTAR_AMX) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hstar {

namespace {

bool ask() {
#if defined(HSTAR_AMX) && defined(__linux__)
    constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;  // of the features in leaf 7
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kTile) || !(d & kInt8)) return false;
    // From asm/prctl.h and the manual of the processor; older headers lack them.
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

}  // namespace

bool amx_permitted() {
    static const bool permitted = ask();
    return permitted;
}

}  // namespace hstar
