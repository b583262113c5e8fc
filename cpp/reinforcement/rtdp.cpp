#include "reinforcement/rtdp.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <unordered_map>

#include "runtime/require.hpp"

namespace hstar {

RtdpLearner::RtdpLearner(std::vector<EnvironmentProblem*> problems, std::vector<int> bucket_of,
                         const NlmShape& shape, std::vector<float> theta, const RtdpOptions& options,
                         uint64_t seed, int threads)
    : problems_(std::move(problems)),
      bucket_of_(std::move(bucket_of)),
      network_(std::make_unique<NlmRunner>(shape)),
      options_(options),
      threads_(threads),
      random_(seed) {
    require(!problems_.empty(), "there is no problem to learn from");
    require(bucket_of_.size() == problems_.size(), "there must be one bucket per problem");
    require(theta.size() == shape.num_parameters, "theta must have ", shape.num_parameters, " numbers, not ",
            theta.size());
    require(shape.outputs == 1, "the network must have one output");
    for (EnvironmentProblem* problem : problems_)
        problem->encoding().check(shape, problem->task().num_facts());
    const auto [least, most] = std::ranges::minmax(bucket_of_);
    require(least >= 0, "buckets are numbered from 0");
    buckets_.assign(most + 1, ReplayBucket(static_cast<size_t>(options.capacity)));
    weights_.mean.assign(theta.size(), 0.0f);
    weights_.square.assign(theta.size(), 0.0f);
    if (options.target_period) weights_.target = theta;
    if (options.average > 0) weights_.average = theta;
    weights_.theta = std::move(theta);
    for (Values* values : {&online_, &copied_}) {
        values->known.resize(problems_.size());
        renew(*values);
    }
    upper_.resize(problems_.size());
}

void RtdpLearner::run(int64_t until, int64_t last, double learning_rate, const Limits& limits) {
    last_step_ = last;
    learning_rate_ = learning_rate;
    bool has_step = false;
    for (EnvironmentProblem* world : problems_) {
        limits.check();
        world->expand(world->start());
        has_step |= !world->is_end(world->start());
    }
    require(has_step, "every problem starts in a goal or in a dead end");
    while (progress_.steps < std::min(until, last)) {
        limits.check();
        const int problem = static_cast<int>(random_.below(static_cast<uint32_t>(problems_.size())));
        options_.searches ? search(problem, limits) : walk(problem, limits);
    }
}

void RtdpLearner::walk(int problem, const Limits& limits) {
    EnvironmentProblem& world = *problems_[problem];
    StateId state = world.start();
    std::vector<StateId> way{state};
    double earned = 0, discount = 1;
    if (!world.is_end(state)) buckets_[bucket_of_[problem]].push({problem, state});
    for (int t = 0; t < options_.episode_steps && !world.is_end(state) && progress_.steps < last_step_; ++t) {
        fill_q({problem, state}, online_);
        state = world.expand(state)[choose_action()].to;
        way.push_back(state);
        earned += discount * options_.shaping.step_reward(world.is_goal(state));
        discount *= options_.shaping.gamma;
        observe({problem, state}, limits);
    }
    if (world.is_goal(state)) see_way(problem, way);
    finish_episode(earned, world.is_goal(state));
}

void RtdpLearner::search(int problem, const Limits& limits) {
    EnvironmentProblem& world = *problems_[problem];
    using Open = std::tuple<double, int64_t, StateId>;  // the cost, and the order of equal ones
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    std::unordered_map<StateId, StateId> parent{{world.start(), kNoState}};
    int64_t order = 0;
    StateId goal = world.is_goal(world.start()) ? world.start() : kNoState;
    if (!world.is_dead_end(world.start())) open.push({0, order++, world.start()});
    std::vector<Place> fresh;
    for (int t = 0;
         t < options_.episode_steps && goal == kNoState && !open.empty() && progress_.steps < last_step_;
         ++t) {
        const StateId state = std::get<StateId>(open.top());
        open.pop();
        fresh.clear();
        for (const auto& edge : world.expand(state)) {
            if (!parent.try_emplace(edge.to, state).second) continue;
            if (world.is_goal(edge.to)) goal = edge.to;
            if (!world.is_end(edge.to)) fresh.push_back({problem, edge.to});
        }
        evaluate(fresh, online_);
        for (Place place : fresh) open.push({-value(place, online_) - phi(place), order++, place.state});
        observe({problem, state}, limits);
    }
    std::vector<StateId> way;
    for (StateId state = goal; state != kNoState; state = parent[state]) way.push_back(state);
    std::reverse(way.begin(), way.end());
    if (goal != kNoState) see_way(problem, way);
    const double length = goal == kNoState ? options_.episode_steps : static_cast<double>(way.size()) - 1;
    finish_episode(options_.shaping.value_at(length), goal != kNoState);
}

void RtdpLearner::finish_episode(double earned, bool reached_goal) {
    ++progress_.episodes;
    progress_.returns += earned;
    if (!reached_goal) return;
    ++progress_.goals;
    goal_steps_.push_back(progress_.steps);
}

// The states of a way end in a goal.
void RtdpLearner::see_way(int problem, std::span<const StateId> states) {
    if (!options_.bounded) return;
    for (size_t i = 0; i < states.size(); ++i) {
        float& known = upper({problem, states[i]});
        known = std::min(known, static_cast<float>(states.size() - 1 - i));
    }
}

void RtdpLearner::observe(Place place, const Limits& limits) {
    if (options_.learns_dead_ends || !problems_[place.problem]->is_dead_end(place.state))
        buckets_[bucket_of_[place.problem]].push(place);
    ++progress_.steps;
    size_t held = 0;
    for (const ReplayBucket& bucket : buckets_) held += bucket.size();
    if (held >= static_cast<size_t>(options_.least_states)) update();
    limits.check();
}

double RtdpLearner::phi(Place place) const {
    const EnvironmentProblem& world = *problems_[place.problem];
    return world.is_goal(place.state) ? 0 : options_.shaping.phi(world.h(place.state));
}

void RtdpLearner::add_successors(Place place, std::vector<Place>& to) {
    EnvironmentProblem& world = *problems_[place.problem];
    for (const auto& edge : world.expand(place.state))
        if (!world.is_end(edge.to)) to.push_back({place.problem, edge.to});
}

void RtdpLearner::fill_q(Place place, Values& by) {
    EnvironmentProblem& world = *problems_[place.problem];
    places_.clear();
    add_successors(place, places_);
    evaluate(places_, by);
    const Shaping& shaping = options_.shaping;
    q_.clear();
    for (const auto& edge : world.expand(place.state)) {
        const Place to{place.problem, edge.to};
        const bool is_goal = world.is_goal(edge.to);
        const double rest = is_goal                      ? 0
                            : world.is_dead_end(edge.to) ? shaping.dead_end_value() - phi(to)
                                                         : value(to, by);
        q_.push_back(shaping.shaped_reward(world.h(place.state), world.h(edge.to), is_goal) +
                     shaping.gamma * rest);
    }
}

size_t RtdpLearner::choose_action() {
    const size_t best = static_cast<size_t>(std::max_element(q_.begin(), q_.end()) - q_.begin());
    if (!options_.samples_actions || options_.temperature == 0) return best;
    double total = 0;
    for (double q : q_) total += std::exp((q - q_[best]) / options_.temperature);
    double left = total * static_cast<double>(random_.bits() >> 11) * 0x1p-53;
    for (size_t a = 0; a < q_.size(); ++a) {
        left -= std::exp((q_[a] - q_[best]) / options_.temperature);
        if (left < 0) return a;
    }
    return best;
}

// What V' of a state should be.
double RtdpLearner::backup(Place place) {
    EnvironmentProblem& world = *problems_[place.problem];
    if (world.is_goal(place.state)) return 0;
    if (world.is_dead_end(place.state)) return options_.shaping.dead_end_value() - phi(place);
    fill_q(place, options_.target_period ? copied_ : online_);
    double result = *std::max_element(q_.begin(), q_.end());
    if (!options_.max_backup && options_.temperature > 0) {
        double total = 0, sum = 0;
        for (double q : q_) {
            const double weight = std::exp((q - result) / options_.temperature);
            total += weight;
            sum += weight == 0 ? 0 : weight * q;
        }
        result = sum / total;
    }
    if (!options_.bounded) return result;
    float& best = upper(place);
    for (const auto& edge : world.expand(place.state))
        best = std::min(best, 1 + upper({place.problem, edge.to}));
    const double most = -options_.shaping.discounted(world.lower(place.state));
    const double least = -options_.shaping.discounted(best);
    return std::clamp(result + phi(place), std::min(least, most), most) - phi(place);
}

float& RtdpLearner::upper(Place place) {
    std::vector<float>& known = upper_[place.problem];
    EnvironmentProblem& world = *problems_[place.problem];
    while (known.size() < world.size())
        known.push_back(world.is_goal(static_cast<StateId>(known.size())) ? 0 : INFINITY);
    return known[place.state];
}

void RtdpLearner::update() {
    const auto most_states = static_cast<size_t>(options_.batch);
    std::vector<ReplayBucket*> ready;
    for (const size_t least : {most_states, size_t{1}})
        if (ready.empty())
            for (ReplayBucket& bucket : buckets_)
                if (bucket.size() >= least) ready.push_back(&bucket);
    if (ready.empty()) return;
    ready[random_.below(static_cast<uint32_t>(ready.size()))]->draw(most_states, options_.fresh_first,
                                                                    random_, batch_);
    const auto leave_out_dead_ends = [&] {
        if (!options_.learns_dead_ends)
            std::erase_if(batch_, [&](Place p) { return problems_[p.problem]->is_dead_end(p.state); });
    };
    leave_out_dead_ends();
    // Together, the successors of all states of the batch make a long batch for the network.
    std::vector<Place> successors;
    for (Place place : batch_)
        if (!problems_[place.problem]->is_end(place.state)) add_successors(place, successors);
    leave_out_dead_ends();  // expanding may have shown that a state is one
    if (batch_.empty()) return;
    // Agents go in circles, so the same states are drawn again and again: each is computed once, and counts
    // as often as it was drawn.
    const auto drawn = static_cast<double>(batch_.size());
    const std::vector<int> times = merge_equal(batch_);
    evaluate(successors, options_.target_period ? copied_ : online_);
    targets_.clear();
    for (Place place : batch_) targets_.push_back(backup(place));

    std::vector<double> losses(batch_.size());
    gradient_.resize(weights_.theta.size());
    network_->backward(
        *online_.weights, fill_batch(batch_),
        [&](int64_t state, const float* output, float* gradient) {
            const double error = *output - targets_[state];
            const double share = times[state] / drawn;
            losses[state] = 0.5 * error * error * share;
            *gradient = static_cast<float>(error * share);
        },
        threads_, gradient_.data());
    double loss = 0;
    for (double one : losses) loss += one;
    require(std::isfinite(loss), "the loss is no finite number any more; lower the learning rate");
    progress_.loss += loss;
    ++progress_.updates;
    apply_adam();
    renew(online_);
    if (options_.target_period && progress_.updates % options_.target_period == 0) {
        weights_.target = weights_.theta;
        renew(copied_);
    }
}

void RtdpLearner::apply_adam() {
    constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
    const auto steps = static_cast<double>(progress_.updates);
    const auto size = static_cast<float>(learning_rate_ / (1 - std::pow(kBeta1, steps)));
    const auto correction = static_cast<float>(1 / std::sqrt(1 - std::pow(kBeta2, steps)));
    constexpr float kTake1 = 1 - kBeta1, kTake2 = 1 - kBeta2, kKeep2 = kBeta2, kEpsilon = 1e-8f;
    const auto keep = static_cast<float>(1 - learning_rate_ * options_.weight_decay);
    auto& [theta, average, target, mean, square] = weights_;
    for (size_t i = 0; i < theta.size(); ++i) {
        const float g = gradient_[i];
        mean[i] += kTake1 * (g - mean[i]);
        square[i] = kKeep2 * square[i] + kTake2 * g * g;
        theta[i] = keep * theta[i] - size * mean[i] / (std::sqrt(square[i]) * correction + kEpsilon);
    }
    // In the beginning the mean is over fewer updates: the first weights are soon forgotten.
    const auto take =
        static_cast<float>(std::max(options_.average > 0 ? 1 - options_.average : 1, 9 / (steps + 9)));
    for (size_t i = 0; i < average.size(); ++i) average[i] += take * (theta[i] - average[i]);
}

NlmBatch RtdpLearner::fill_batch(std::span<const Place> places) {
    sizes_.clear();
    starts_.assign(1, 0);
    entries_.clear();
    entry_values_.clear();
    for (Place place : places) {
        const EnvironmentProblem& world = *problems_[place.problem];
        sizes_.push_back(world.encoding().num_objects);
        world.encode(place.state, entries_, entry_values_);
        starts_.push_back(static_cast<int64_t>(entries_.size()));
    }
    return {sizes_, starts_, entries_, entry_values_};
}

void RtdpLearner::renew(Values& by) {
    const std::vector<float>& theta = &by == &copied_ ? weights_.target : weights_.theta;
    if (theta.empty()) return;  // there is no copy
    by.weights->assign(network_->shape(), theta.data(), &by == &online_);
    ++by.version;
}

void RtdpLearner::evaluate(std::span<const Place> places, Values& by) {
    unknown_.clear();
    for (Place place : places) {
        auto& known = by.known[place.problem];
        if (known.size() <= place.state) known.resize(problems_[place.problem]->size());
        if (known[place.state].version == by.version) continue;
        known[place.state].version = by.version;  // listed once
        unknown_.push_back(place);
    }
    if (unknown_.empty()) return;
    outputs_.resize(unknown_.size());
    network_->forward(*by.weights, fill_batch(unknown_), threads_, outputs_.data());
    for (size_t i = 0; i < unknown_.size(); ++i)
        by.known[unknown_[i].problem][unknown_[i].state].value = outputs_[i];
}

}  // namespace hstar
