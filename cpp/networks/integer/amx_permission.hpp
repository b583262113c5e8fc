// AMX tiles are kilobytes of state per thread, so Linux grants them only to processes that request them.
#pragma once

namespace hstar {

// Requests them once. False if the processor has no 8-bit tiles or the system refuses.
bool amx_permitted();

}  // namespace hstar
