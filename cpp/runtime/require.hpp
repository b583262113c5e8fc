// Refusing what comes from outside and makes no sense.
#pragma once
#include <sstream>
#include <stdexcept>

namespace hstar {

// Throws std::invalid_argument; the message is its parts one after the other.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
    std::ostringstream message;
    (message << ... << parts);
    throw std::invalid_argument(message.str());
}

template <class... Parts>
void require(bool holds, const Parts&... parts) {
    if (!holds) [[unlikely]]
        refuse(parts...);
}

}  // namespace hstar
