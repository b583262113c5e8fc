// Refusing what comes from outside and makes no sense.
#pragma once
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

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

// What a name stands for. Throws std::invalid_argument that lists the names.
template <class T>
T chosen(const char* what, const std::string& name, std::initializer_list<std::pair<const char*, T>> known) {
    std::string names;
    for (const auto& [one, value] : known) {
        if (one == name) return value;
        names += (names.empty() ? "" : &one == &std::rbegin(known)->first ? " or " : ", ") + std::string(one);
    }
    refuse("unknown ", what, " '", name, "'; choose ", names);
}

}  // namespace hstar
