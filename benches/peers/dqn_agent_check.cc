// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Checks dqn_agent.h against what can be known without it: the gradient against finite differences, a network and
// Adam's first steps worked by hand, and a world of two places whose values are solved by hand. Prints what failed;
// exit status 1 then.

#include "dqn_agent.h"

#include <cstdio>
#include <string>

namespace {

int failures = 0;

void Expect(bool holds, const std::string& what) {
  if (!holds) {
    ++failures;
    std::printf("failed: %s\n", what.c_str());
  }
}

double Loss(const dqn::Pass& pass) {
  double sum = 0.0;
  for (const float value : pass.values.back()) {
    sum += 0.5 * static_cast<double>(value) * value;
  }
  return sum;
}

// Half the sum of squared outputs, whose change with each output is the output.
void CheckGradient() {
  dqn::Random random(3);
  dqn::Network network(3, {7, 5}, 2, random);
  dqn::Network gradient = network;
  dqn::Pass pass;
  pass.Prepare(network);
  for (float& value : pass.values[0]) {
    value = 2.0F * dqn::Uniform(random) - 1.0F;
  }
  const auto forward = [&] {
    dqn::Random same(11);
    pass.Forward(network, 0.2F, same);
    return Loss(pass);
  };
  forward();
  pass.Backward(network, pass.values.back(), gradient);
  const float step = 1e-3F;
  for (size_t l = 0; l < network.layers.size(); ++l) {
    for (size_t at = 0; at < network.layers[l].weights.size(); ++at) {
      float& weight = network.layers[l].weights[at];
      const float original = weight;
      weight = original + step;
      const double above = forward();
      weight = original - step;
      const double below = forward();
      weight = original;
      const double slope = (above - below) / (2.0 * step);
      // Sums of 32 samples, near 1: rounding of f32 over 2e-3 is 1e-3; kinks of the rectifier are little more.
      Expect(std::abs(slope - gradient.layers[l].weights[at]) < 1e-2, "gradient of layer " + std::to_string(l));
    }
  }
}

// h = relu([1 -1; 2 1] x + [0; -10]), y = [3 5] h + 0.5: (3, 1) gives h = (2, 0), y = 6.5; (6, 2) h = (4, 4), y = 32.5.
void CheckNetworkByHand() {
  dqn::Random random(1);
  dqn::Network network(2, {2}, 1, random);
  network.layers[0].weights = {1, -1, 2, 1};
  network.layers[0].biases = {0, -10};
  network.layers[1].weights = {3, 5};
  network.layers[1].biases = {0.5F};
  dqn::Pass pass;
  pass.Prepare(network);
  pass.values[0][0] = 3;
  pass.values[0][1] = 6;
  pass.values[0][dqn::kBatch] = 1;
  pass.values[0][dqn::kBatch + 1] = 2;
  pass.Forward(network, 0.0F, random);
  Expect(pass.values.back()[0] == 6.5F && pass.values.back()[1] == 32.5F, "a network by hand");
}

// The first step is rate x sign(g); the second, gradient 1 after 2: 0.1 x 0.932179 (Kingma and Ba, algorithm 1).
void CheckAdamByHand() {
  dqn::Random random(1);
  dqn::Network network(1, {}, 1, random);
  dqn::Network gradient = network;
  network.layers[0].weights = {1.0F};
  gradient.layers[0].biases = {0.0F};
  dqn::Adam adam;
  gradient.layers[0].weights = {2.0F};
  adam.Step(0.1F, network, gradient);
  Expect(std::abs(network.layers[0].weights[0] - 0.9F) < 1e-6F, "Adam's first step");
  gradient.layers[0].weights = {1.0F};
  adam.Step(0.1F, network, gradient);
  Expect(std::abs(network.layers[0].weights[0] - (0.9F - 0.0932179F)) < 1e-6F, "Adam's second step");
}

// Action 0 stays, action 1 changes places; being at the second afterwards is worth 1, and a step later half as much:
// V = 1 / (1 - 0.5) = 2 at both by the best action; the other action is worth 0.5 x 2 = 1.
void CheckTwoPlaces() {
  dqn::Settings settings;
  settings.hidden = {16, 16};
  settings.dropout = 0.0F;
  settings.learning_rate = 2e-3F;
  settings.discount = 0.5F;
  settings.epsilon = 0.1F;
  settings.target_update = 50;
  settings.replay_capacity = 1'000;
  settings.warm_up = 200;
  dqn::Agent agent(2, 2, settings, 1);
  const std::vector<std::vector<float>> places = {{1, 0}, {0, 1}};
  size_t place = 0;
  for (int i = 0; i < 6'000; ++i) {
    const size_t action = agent.Decide(places[place]);
    const size_t after = action == 0 ? place : 1 - place;
    agent.Store({places[place], action, static_cast<float>(after), places[after]});
    agent.Learn();
    place = after;
  }
  const float expected[2][2] = {{1, 2}, {2, 1}};
  for (size_t p = 0; p < 2; ++p) {
    const std::vector<float> values = agent.Values(places[p]);
    for (size_t a = 0; a < 2; ++a) {
      Expect(std::abs(values[a] - expected[p][a]) < 0.1F, "value of action " + std::to_string(a));
    }
  }
}

}  // namespace

int main() {
  CheckGradient();
  CheckNetworkByHand();
  CheckAdamByHand();
  CheckTwoPlaces();
  return failures > 0 ? 1 : 0;
}
