// Tiles of the AMX unit are kilobytes of state per thread, so Linux gives them only to processes that ask.
#pragma once

namespace hstar {

// Asks once. False if the processor has no tiles of bytes, or the system does not give them.
bool amx_permitted();

}  // namespace hstar
