// Smaller depths for pre-images, by steps between them that the sampling did not take.
//
// Bettker et al. 2024 (sample and successor improvement). If an operator leads from a set s to a set that
// contains t, then depth(s) <= depth(t) + 1, because all states that contain s reach one that contains t.
// If s itself contains t, then depth(s) <= depth(t).
#pragma once
#include "regression/regression.hpp"

namespace hstar {

// Lowers depths until these bounds lower less than one in a thousand more; of up to a thousand sets, none. It
// may be stopped at any moment (Stopped): all depths are upper bounds all the time. Afterwards `parent` and
// `op` say how a set was found, but a shorter way may be known.
void improve_depths(const SetTask& task, PreImages& images, const Limits& limits);

}  // namespace hstar
