// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An agent of deep Q-learning in plain C++, for controllers in ns-3: a second implementation of what crates/learn does,
// written from the same sources and not from that code's text, so that a slip in either shows as a difference.
//
// Sources: Mnih et al., Nature 518, 2015 (algorithm 1); Rumelhart, Hinton, Williams 1986 (back-propagation); Kingma, Ba,
// ICLR 2015 (Adam, algorithm 1); Srivastava et al., JMLR 15, 2014 (dropout); Welford 1962 (running moments).
// Departures, as in crates/learn: mean squared error that is not clipped, no step is the last of an episode, inputs
// farther than five deviations count as five, nodes that dropout keeps are scaled while learning.

#ifndef ACKCLOCK_DQN_AGENT_H
#define ACKCLOCK_DQN_AGENT_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace dqn {

constexpr size_t kBatch = 32;
constexpr float kFarthest = 5.0F;

struct Settings {
  std::vector<size_t> hidden = {30, 30, 30};
  float dropout = 0.1F;
  float learning_rate = 1e-3F;
  float discount = 0.9F;
  float epsilon = 0.015F;
  uint64_t target_update = 100;
  size_t replay_capacity = 10'000;
  uint64_t warm_up = 2'000;
};

using Random = std::mt19937_64;

inline float Uniform(Random& random) { return std::uniform_real_distribution<float>(0.0F, 1.0F)(random); }

// A fully connected network with rectifiers. Numbers of a batch lie side by side: a row of kBatch for each node.
class Network {
 public:
  struct Layer {
    size_t inputs;
    size_t outputs;
    std::vector<float> weights;  // a row for each output
    std::vector<float> biases;
  };

  Network() = default;
  Network(size_t inputs, const std::vector<size_t>& hidden, size_t outputs, Random& random) {
    std::vector<size_t> widths = {inputs};
    widths.insert(widths.end(), hidden.begin(), hidden.end());
    widths.push_back(outputs);
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      // As PyTorch's linear layers begin.
      const float bound = 1.0F / std::sqrt(static_cast<float>(widths[i]));
      Layer layer{widths[i], widths[i + 1], {}, {}};
      const auto draw = [&] { return (2.0F * Uniform(random) - 1.0F) * bound; };
      layer.weights.resize(layer.inputs * layer.outputs);
      layer.biases.resize(layer.outputs);
      std::generate(layer.weights.begin(), layer.weights.end(), draw);
      std::generate(layer.biases.begin(), layer.biases.end(), draw);
      layers.push_back(std::move(layer));
    }
  }

  std::vector<Layer> layers;
};

// A batch on its way through a network and back.
class Pass {
 public:
  std::vector<std::vector<float>> values;  // inputs of each layer, and last the outputs
  std::vector<std::vector<float>> slopes;  // of the hidden nodes: 0 where rectifier or dropout silences them

  void Prepare(const Network& network) {
    values.assign(1, std::vector<float>(network.layers.front().inputs * kBatch));
    slopes.clear();
    for (const auto& layer : network.layers) {
      values.emplace_back(layer.outputs * kBatch);
      slopes.emplace_back(layer.outputs * kBatch);
    }
  }

  // With a probability of dropout above 0 nodes fall silent at random.
  void Forward(const Network& network, float dropout, Random& random) {
    for (size_t i = 0; i < network.layers.size(); ++i) {
      const auto& layer = network.layers[i];
      float* out = values[i + 1].data();
      for (size_t o = 0; o < layer.outputs; ++o, out += kBatch) {
        std::fill(out, out + kBatch, layer.biases[o]);
        for (size_t n = 0; n < layer.inputs; ++n) {
          const float weight = layer.weights[o * layer.inputs + n];
          const float* in = &values[i][n * kBatch];
          for (size_t s = 0; s < kBatch; ++s) {
            out[s] += weight * in[s];
          }
        }
      }
      if (i + 1 < network.layers.size()) {
        Rectify(values[i + 1], slopes[i], dropout, random);
      }
    }
  }

  // The gradient in every parameter; `delta` is what the loss changes by with each output.
  void Backward(const Network& network, std::vector<float> delta, Network& gradient) const {
    for (size_t i = network.layers.size(); i-- > 0;) {
      const auto& layer = network.layers[i];
      std::vector<float> before(layer.inputs * kBatch, 0.0F);
      for (size_t o = 0; o < layer.outputs; ++o) {
        const float* d = &delta[o * kBatch];
        gradient.layers[i].biases[o] = Sum(d);
        for (size_t n = 0; n < layer.inputs; ++n) {
          const float* in = &values[i][n * kBatch];
          float products[kBatch];
          const float weight = layer.weights[o * layer.inputs + n];
          for (size_t s = 0; s < kBatch; ++s) {
            products[s] = d[s] * in[s];
            before[n * kBatch + s] += weight * d[s];
          }
          gradient.layers[i].weights[o * layer.inputs + n] = Sum(products);
        }
      }
      if (i > 0) {
        for (size_t at = 0; at < before.size(); ++at) {
          before[at] *= slopes[i - 1][at];
        }
      }
      delta = std::move(before);
    }
  }

 private:
  static float Sum(const float* numbers) {
    float lanes[8] = {};
    for (size_t s = 0; s < kBatch; s += 8) {
      for (size_t lane = 0; lane < 8; ++lane) {
        lanes[lane] += numbers[s + lane];
      }
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }

  static void Rectify(std::vector<float>& nodes, std::vector<float>& slope, float dropout, Random& random) {
    const auto threshold = static_cast<uint16_t>(dropout * 65536.0F);
    const float scale = 1.0F / (1.0F - dropout);
    uint64_t bits = 0;
    for (size_t at = 0; at < nodes.size(); ++at) {
      if (threshold > 0 && at % 4 == 0) {
        bits = random();
      }
      const bool silent = threshold > 0 && static_cast<uint16_t>(bits >> (16 * (at % 4))) < threshold;
      slope[at] = nodes[at] > 0.0F && !silent ? (threshold > 0 ? scale : 1.0F) : 0.0F;
      nodes[at] *= slope[at];
    }
  }
};

// Adam, for the parameters of a network in their order.
class Adam {
 public:
  void Step(float rate, Network& network, const Network& gradient) {
    power_1_ *= kBeta1;
    power_2_ *= kBeta2;
    size_t at = 0;
    for (size_t i = 0; i < network.layers.size(); ++i) {
      at = Move(rate, network.layers[i].weights, gradient.layers[i].weights, at);
      at = Move(rate, network.layers[i].biases, gradient.layers[i].biases, at);
    }
  }

 private:
  static constexpr float kBeta1 = 0.9F;
  static constexpr float kBeta2 = 0.999F;

  size_t Move(float rate, std::vector<float>& parameters, const std::vector<float>& slopes, size_t at) {
    first_.resize(std::max(first_.size(), at + parameters.size()));
    second_.resize(first_.size());
    const auto correct_1 = static_cast<float>(1.0 / (1.0 - power_1_));
    const auto correct_2 = static_cast<float>(1.0 / (1.0 - power_2_));
    float* m = &first_[at];
    float* v = &second_[at];
    for (size_t i = 0; i < parameters.size(); ++i) {
      m[i] = kBeta1 * m[i] + (1.0F - kBeta1) * slopes[i];
      v[i] = kBeta2 * v[i] + (1.0F - kBeta2) * slopes[i] * slopes[i];
      parameters[i] -= rate * (m[i] * correct_1) / (std::sqrt(v[i] * correct_2) + 1e-8F);
    }
    return at + parameters.size();
  }

  std::vector<float> first_;
  std::vector<float> second_;
  double power_1_ = 1.0;
  double power_2_ = 1.0;
};

// Numbers brought to mean 0 and deviation 1 by what was seen so far.
class Normaliser {
 public:
  explicit Normaliser(size_t width) : means_(width), squares_(width), factors_(width, 1.0F) {}

  void Observe(const std::vector<float>& numbers) {
    ++seen_;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double distance = numbers[i] - means_[i];
      means_[i] += distance / static_cast<double>(seen_);
      squares_[i] += distance * (numbers[i] - means_[i]);
      const double deviation = std::sqrt(squares_[i] / static_cast<double>(seen_));
      // A number that never changed says nothing.
      factors_[i] = deviation > 1e-6 * std::abs(means_[i]) ? static_cast<float>(1.0 / deviation) : 0.0F;
    }
  }

  float Apply(size_t at, float number) const {
    return std::clamp((number - static_cast<float>(means_[at])) * factors_[at], -kFarthest, kFarthest);
  }

 private:
  uint64_t seen_ = 0;
  std::vector<double> means_;
  std::vector<double> squares_;
  std::vector<float> factors_;
};

struct Tuple {
  std::vector<float> state;
  size_t action;
  float reward;
  std::vector<float> next;
};

// Decides, stores what came of it, and learns from replay.
class Agent {
 public:
  Agent(size_t inputs, size_t actions, Settings settings, uint64_t seed)
      : settings_(std::move(settings)),
        random_(seed),
        network_(inputs, settings_.hidden, actions, random_),
        target_(network_),
        gradient_(network_),
        normaliser_(inputs),
        actions_(actions) {
    online_.Prepare(network_);
    next_.Prepare(network_);
  }

  void Store(Tuple tuple) {
    normaliser_.Observe(tuple.state);
    if (replay_.size() < settings_.replay_capacity) {
      replay_.push_back(std::move(tuple));
    } else {
      replay_[tuples_ % settings_.replay_capacity] = std::move(tuple);
    }
    ++tuples_;
  }

  size_t Decide(const std::vector<float>& state) {
    ++decisions_;
    if (tuples_ < settings_.warm_up || Uniform(random_) < settings_.epsilon) {
      return Below(actions_);
    }
    const std::vector<float> values = Values(state);
    return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  }

  // A value for each action.
  std::vector<float> Values(const std::vector<float>& state) const {
    std::vector<float> numbers(state.size());
    for (size_t i = 0; i < state.size(); ++i) {
      numbers[i] = normaliser_.Apply(i, state[i]);
    }
    for (size_t l = 0; l < network_.layers.size(); ++l) {
      const auto& layer = network_.layers[l];
      std::vector<float> out = layer.biases;
      for (size_t o = 0; o < layer.outputs; ++o) {
        for (size_t n = 0; n < layer.inputs; ++n) {
          out[o] += layer.weights[o * layer.inputs + n] * numbers[n];
        }
        out[o] = l + 1 < network_.layers.size() ? std::max(out[o], 0.0F) : out[o];
      }
      numbers = std::move(out);
    }
    return numbers;
  }

  // One step of learning, once the warm-up is over.
  void Learn() {
    if (tuples_ < settings_.warm_up || replay_.empty()) {
      return;
    }
    size_t drawn[kBatch];
    for (size_t s = 0; s < kBatch; ++s) {
      drawn[s] = Below(replay_.size());
      const Tuple& tuple = replay_[drawn[s]];
      for (size_t i = 0; i < tuple.state.size(); ++i) {
        online_.values[0][i * kBatch + s] = normaliser_.Apply(i, tuple.state[i]);
        next_.values[0][i * kBatch + s] = normaliser_.Apply(i, tuple.next[i]);
      }
    }
    next_.Forward(settings_.target_update > 0 ? target_ : network_, 0.0F, random_);
    online_.Forward(network_, settings_.dropout, random_);
    std::vector<float> delta(actions_ * kBatch, 0.0F);
    for (size_t s = 0; s < kBatch; ++s) {
      const Tuple& tuple = replay_[drawn[s]];
      float best = -std::numeric_limits<float>::infinity();
      for (size_t a = 0; a < actions_; ++a) {
        best = std::max(best, next_.values.back()[a * kBatch + s]);
      }
      const size_t place = tuple.action * kBatch + s;
      const float error = online_.values.back()[place] - (tuple.reward + settings_.discount * best);
      delta[place] = 2.0F * error / static_cast<float>(kBatch);
    }
    online_.Backward(network_, std::move(delta), gradient_);
    adam_.Step(settings_.learning_rate, network_, gradient_);
    if (++steps_; settings_.target_update > 0 && steps_ % settings_.target_update == 0) {
      target_ = network_;
    }
  }

  uint64_t tuples() const { return tuples_; }
  uint64_t decisions() const { return decisions_; }
  uint64_t steps() const { return steps_; }

 private:
  size_t Below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  Settings settings_;
  Random random_;
  Network network_;
  Network target_;
  Network gradient_;
  Adam adam_;
  Normaliser normaliser_;
  size_t actions_;
  std::vector<Tuple> replay_;
  Pass online_;
  Pass next_;
  uint64_t tuples_ = 0;
  uint64_t decisions_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace dqn

#endif  // ACKCLOCK_DQN_AGENT_H
