// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The two learned controllers in ns-3: DQN-NewReno on ns3::TcpNewReno, DQN-CUBIC on ns3::TcpCubic. Slow start, HyStart
// included, and loss recovery are ns-3's own; what an agent sees, does and is rewarded for is as in crates/cc/src/dqn.
//
// Source: Seo, Cho, "DQN-based NewReno" and "DQN-based CUBIC", J. KICS, 2023 and 2024.
// Departures: the choices that the papers leave open are those of docs/explanation/dqn.md; acknowledged segments are
// counted, not ACKs; the window at a congestion is cwnd, as the papers say it; ns-3's RTT samples are whole milliseconds,
// for its timestamps are.

#ifndef ACKCLOCK_NS3_DQN_H
#define ACKCLOCK_NS3_DQN_H

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dqn_agent.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"

namespace dqn {

enum class LearnOn { kTuple, kAction };

// When the agent remembers, learns and acts, and what it is rewarded for.
class Learner {
 public:
  Learner(std::shared_ptr<Agent> agent, LearnOn learn_on) : agent_(std::move(agent)), learn_on_(learn_on) {}

  // The tuple at hand is complete, and the next begins under the same action; throughputs in segments a second.
  void Store(const std::vector<float>& state, double throughput) {
    greatest_of_all_ = std::max(greatest_of_all_, throughput);
    const double greatest = greatest_.value_or(greatest_of_all_);
    if (greatest > 0) {
      Complete(state, static_cast<float>(throughput / greatest));
    }
  }

  void StoreLoss(const std::vector<float>& state, double throughput) {
    Complete(state, -1.0F);
    Forget();
    if (throughput > 0) {
      greatest_ = std::max(greatest_.value_or(0), throughput);
    }
    greatest_of_all_ = std::max(greatest_of_all_, throughput);
  }

  void Forget() { action_.reset(); }

  size_t Act(const std::vector<float>& state) {
    if (learn_on_ == LearnOn::kAction) {
      agent_->Learn();
    }
    began_ = state;
    action_ = agent_->Decide(state);
    return *action_;
  }

  const Agent& agent() const { return *agent_; }

 private:
  void Complete(const std::vector<float>& next, float reward) {
    if (!action_) {
      return;
    }
    agent_->Store({began_, *action_, reward, next});
    began_ = next;
    if (learn_on_ == LearnOn::kTuple) {
      agent_->Learn();
    }
  }

  std::shared_ptr<Agent> agent_;
  LearnOn learn_on_;
  std::optional<double> greatest_;
  double greatest_of_all_ = 0;
  std::optional<size_t> action_;
  std::vector<float> began_;
};

constexpr double kBeta = 0.7;
constexpr uint32_t kLeastWindow = 2;

inline double Segments(const ns3::TcpSocketState& tcb) {
  return static_cast<double>(tcb.m_cWnd.Get()) / tcb.m_segmentSize;
}

inline void Step(ns3::TcpSocketState& tcb, int segments) {
  const int64_t least = std::min<int64_t>(kLeastWindow * tcb.m_segmentSize, tcb.m_cWnd.Get());
  const int64_t moved = static_cast<int64_t>(tcb.m_cWnd.Get()) + static_cast<int64_t>(segments) * tcb.m_segmentSize;
  tcb.m_cWnd = static_cast<uint32_t>(segments < 0 ? std::max(moved, least) : moved);
}

// What both controllers share, on the controller of ns-3 whose slow start each has.
template <typename Base>
class Learned : public Base {
 public:
  void SetLearner(std::shared_ptr<Learner> learner) { learner_ = std::move(learner); }

  void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments, const ns3::Time& rtt) override {
    Base::PktsAcked(tcb, segments, rtt);
    if (rtt.IsStrictlyPositive()) {
      rtt_ = rtt;
    }
  }

  void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments) override {
    if (tcb->m_cWnd < tcb->m_ssThresh) {
      if (!avoids_) {
        learner_->Forget();
      }
      Base::IncreaseWindow(tcb, segments);
      return;
    }
    avoids_ = true;
    Avoid(*tcb, segments);
  }

  void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb, const ns3::TcpSocketState::TcpCongState_t state) override {
    Base::CongestionStateSet(tcb, state);
    avoids_ = avoids_ && state != ns3::TcpSocketState::CA_LOSS;
  }

  // ns-3 asks for it at the beginning of an episode, before it sets the window; only fast recovery is a state by then.
  uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override {
    const bool timeout = tcb->m_congState != ns3::TcpSocketState::CA_RECOVERY;
    const double kept = std::max(std::floor(kBeta * tcb->m_cWnd.Get()), 2.0 * tcb->m_segmentSize);
    const double threshold = kept / tcb->m_segmentSize;
    OnCongestion(*tcb);
    learner_->StoreLoss(Reading(threshold, timeout ? 1.0 : threshold), Throughput(*tcb));
    avoids_ = !timeout;
    return static_cast<uint32_t>(kept);
  }

 protected:
  // An ACK in congestion avoidance.
  virtual void Avoid(ns3::TcpSocketState& tcb, uint32_t segments) = 0;
  virtual void OnCongestion(const ns3::TcpSocketState& tcb) = 0;
  virtual std::vector<float> Reading(double threshold, double window) const = 0;

  std::vector<float> Reading(const ns3::TcpSocketState& tcb) const {
    const double threshold = static_cast<double>(tcb.m_ssThresh.Get()) / tcb.m_segmentSize;
    return Reading(threshold, Segments(tcb));
  }

  double Throughput(const ns3::TcpSocketState& tcb) const {
    return rtt_.IsZero() ? 0.0 : Segments(tcb) / rtt_.GetSeconds();
  }

  std::shared_ptr<Learner> learner_;
  ns3::Time rtt_{0};

 private:
  bool avoids_ = false;
};

// State: threshold, cwnd, RTT. An action comes when as much is acknowledged as the window holds.
class NewReno : public Learned<ns3::TcpNewReno> {
 public:
  static ns3::TypeId GetTypeId() {
    static ns3::TypeId id =
        ns3::TypeId("ackclock::DqnNewReno").SetParent<ns3::TcpNewReno>().AddConstructor<NewReno>();
    return id;
  }
  std::string GetName() const override { return "DqnNewReno"; }
  ns3::Ptr<ns3::TcpCongestionOps> Fork() override { return ns3::CopyObject<NewReno>(this); }

 protected:
  void Avoid(ns3::TcpSocketState& tcb, uint32_t segments) override {
    constexpr int kSteps[] = {-10, -3, -1, 0, 1, 3, 10};
    acked_ += segments;
    learner_->Store(Learned::Reading(tcb), Throughput(tcb));
    if (acked_ >= Segments(tcb)) {
      acked_ = 0;
      Step(tcb, kSteps[learner_->Act(Learned::Reading(tcb))]);
    }
  }
  void OnCongestion(const ns3::TcpSocketState&) override { acked_ = 0; }
  std::vector<float> Reading(double threshold, double window) const override {
    return {static_cast<float>(threshold), static_cast<float>(window), static_cast<float>(1e3 * rtt_.GetSeconds())};
  }

 private:
  double acked_ = 0;
};

// State: these, W_max and T. An action comes when more is acknowledged than CUBIC's cnt.
class Cubic : public Learned<ns3::TcpCubic> {
 public:
  static ns3::TypeId GetTypeId() {
    static ns3::TypeId id = ns3::TypeId("ackclock::DqnCubic").SetParent<ns3::TcpCubic>().AddConstructor<Cubic>();
    return id;
  }
  std::string GetName() const override { return "DqnCubic"; }
  ns3::Ptr<ns3::TcpCongestionOps> Fork() override { return ns3::CopyObject<Cubic>(this); }

 protected:
  void Avoid(ns3::TcpSocketState& tcb, uint32_t segments) override {
    if (!w_max_) {
      w_max_ = Segments(tcb);
      since_ = ns3::Simulator::Now();
    }
    acked_ += segments;
    if (Since() > tcb.m_minRtt || tcb.m_cWnd.Get() != stored_at_) {
      stored_at_ = tcb.m_cWnd;
      learner_->Store(Learned::Reading(tcb), Throughput(tcb));
    }
    if (acked_ > Count(Segments(tcb))) {
      Act(tcb);
    }
  }
  void OnCongestion(const ns3::TcpSocketState& tcb) override {
    w_max_ = Segments(tcb) * (1 + kBeta) / 2;
    since_ = ns3::Simulator::Now();
    acked_ = 0;
    is_faster_ = false;
  }
  std::vector<float> Reading(double threshold, double window) const override {
    return {static_cast<float>(threshold), static_cast<float>(window), static_cast<float>(1e3 * rtt_.GetSeconds()),
            static_cast<float>(w_max_.value_or(0)), static_cast<float>(1e3 * Since().GetSeconds())};
  }

 private:
  enum Action : size_t { kLess, kHold, kCubicsPace, kFaster };
  static constexpr double kC = 0.4;

  ns3::Time Since() const { return ns3::Simulator::Now() - since_; }

  // Segments to be acknowledged until the next action: C' (T - K)^3 + W_max, C' being C or 3 C.
  double Count(double window) const {
    const double c = is_faster_ ? 3 * kC : kC;
    const double offset = Since().GetSeconds() - std::cbrt(*w_max_ * (1 - kBeta) / c);
    const double target = c * offset * offset * offset + *w_max_;
    return target > window ? std::max(window / (target - window), 2.0) : 100.0 * window;
  }

  void Act(ns3::TcpSocketState& tcb) {
    acked_ = 0;
    const size_t action = learner_->Act(Learned::Reading(tcb));
    is_faster_ = action == kFaster;
    if (action != kHold) {
      Step(tcb, action == kLess ? -1 : 1);
    }
  }

  std::optional<double> w_max_;
  ns3::Time since_{0};
  bool is_faster_ = false;
  double acked_ = 0;
  uint32_t stored_at_ = 0;
};

}  // namespace dqn

#endif  // ACKCLOCK_NS3_DQN_H
