#include "spaces/cube_geometry.hpp"

#include <algorithm>
#include <string_view>

namespace hstar::cube {

namespace {

using Vector = std::array<int, 3>;  // right, up, front

int dot(Vector a, Vector b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
Vector cross(Vector a, Vector b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector normal(char face) {
    constexpr Vector kNormals[] = {{0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}, {-1, 0, 0}, {1, 0, 0}};
    return kNormals[std::string_view("UDFBLR").find(face)];
}

struct Sticker {
    Vector place, facing;
    bool operator==(const Sticker&) const = default;
};

std::vector<Sticker> stickers(const std::vector<std::string>& names) {
    std::vector<Sticker> result;
    for (const std::string& name : names) {
        Vector place{0, 0, 0};
        for (char face : name)
            for (int axis = 0; axis < 3; ++axis) place[axis] += normal(face)[axis];
        for (char face : name) result.push_back({place, normal(face)});
    }
    return result;
}

template <class Map>  // Map: Sticker -> Sticker
Permutation permutation(const std::vector<std::string>& names, Map map) {
    std::vector<Sticker> all = stickers(names);
    Permutation result;
    for (size_t i = 0; i < all.size(); ++i)
        result[i] = static_cast<uint8_t>(std::find(all.begin(), all.end(), map(all[i])) - all.begin());
    return result;
}

Sticker turned(Sticker sticker, Vector axis) {
    if (dot(sticker.place, axis) <= 0) return sticker;
    for (Vector* v : {&sticker.place, &sticker.facing}) {
        Vector rotated = cross(*v, axis);
        for (int i = 0; i < 3; ++i) rotated[i] += axis[i] * dot(*v, axis);
        *v = rotated;
    }
    return sticker;
}

}  // namespace

Permutation quarter_turn(const std::vector<std::string>& places, char face) {
    return permutation(places, [&](Sticker s) { return turned(s, normal(face)); });
}

std::vector<Permutation> corner_symmetries() {
    std::vector<Permutation> result;
    std::array<int, 3> axes{0, 1, 2};
    do {
        for (int signs = 0; signs < 8; ++signs) {
            auto map = [&](Vector v) {
                Vector image;
                for (int i = 0; i < 3; ++i) image[i] = (signs >> i & 1 ? -1 : 1) * v[axes[i]];
                return image;
            };
            result.push_back(
                permutation(kCornerNames, [&](Sticker s) { return Sticker{map(s.place), map(s.facing)}; }));
        }
    } while (std::next_permutation(axes.begin(), axes.end()));
    return result;
}

}  // namespace hstar::cube
