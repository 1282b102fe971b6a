// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The testbed of the papers on DQN-NewReno and DQN-CUBIC in ns-3: one flow, or two flows with hosts of their own, over
// two routers, whose rates may change while they run.
//
// Queues are ns-3's by default: FQ-CoDel above a device with a queue of 100 packets; --queue puts a FIFO of so many
// packets in the place of both. Segments of 536 bytes, SACK, PRR, timestamps and window scaling are as by default; send
// and receive buffers do not limit, which is ours, as the papers do not say. Prints one JSON object.
//
// Source: Seo, Cho, J. KICS, 2023 and 2024. Departures: what they leave open, see ns3_dqn.h.

#include "ns3_dqn.h"

#include <cstdint>
#include <iostream>
#include <string>

#include "ns3_testbed.h"

#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint16_t kPort = 5001;

struct Options : testbed::TcpOptions {
  std::string controllers = "newreno";  // one for each flow, with commas
  std::string rates = "100";            // of the bottleneck, Mbit/s; at 50 s and 100 s the next, with commas
  std::string access1 = "150";
  std::string access2 = "100";
  double delay_ms = 30;
  double access1_delay_ms = 0.01;
  double access2_delay_ms = 0.01;
  double start2_s = 0;
  uint32_t queue_packets = 0;
  double jitter_ms = 0;
  bool shared = false;
  std::string learn_on = "tuple";
  uint32_t seed = 1;
};

Options ParseOptions(int argc, char** argv) {
  Options o;
  o.hystart = true;
  o.mss_bytes = 536;
  o.buffer_bytes = 3'000'000;
  CommandLine cmd(__FILE__);
  o.AddTo(cmd);
  cmd.AddValue("controllers", "newreno, cubic, dqn_newreno, dqn_cubic; one for each flow", o.controllers);
  cmd.AddValue("rates", "of the bottleneck, Mbit/s; the next at 50 s and at 100 s", o.rates);
  cmd.AddValue("access1", "of flow 1's access link, Mbit/s, as --rates", o.access1);
  cmd.AddValue("access2", "of flow 2's access link, Mbit/s, as --rates", o.access2);
  cmd.AddValue("delay", "of the bottleneck, ms", o.delay_ms);
  cmd.AddValue("access1Delay", "of flow 1's access link, ms", o.access1_delay_ms);
  cmd.AddValue("access2Delay", "of flow 2's access link, ms", o.access2_delay_ms);
  cmd.AddValue("start2", "of flow 2, s", o.start2_s);
  cmd.AddValue("queue", "FIFO of so many packets; 0 is FQ-CoDel over a device's 100 packets", o.queue_packets);
  cmd.AddValue("jitter", "the most that is added to a packet's time before the bottleneck, uniform, ms", o.jitter_ms);
  cmd.AddValue("shared", "one agent for all learned flows", o.shared);
  cmd.AddValue("learnOn", "a step of learning with each tuple, or action", o.learn_on);
  cmd.AddValue("seed", "of the agents", o.seed);
  cmd.Parse(argc, argv);
  return o;
}

// What is counted of one flow, twice a second where there are numbers over time.
struct Flow : testbed::BulkFlow {
  std::string controller;
  uint32_t mss_bytes = 0;
  std::shared_ptr<dqn::Learner> learner;
  uint32_t cwnd_bytes = 0;
  uint64_t reported_bytes = 0;
  std::vector<double> reductions_s;
  std::vector<uint64_t> delivered_bytes;
  std::vector<double> cwnd_segments;

  void OnCwnd(uint32_t, uint32_t now) { cwnd_bytes = now; }
  void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) {
    if (now == TcpSocketState::CA_RECOVERY || now == TcpSocketState::CA_LOSS) {
      reductions_s.push_back(Simulator::Now().GetSeconds());
    }
  }
  void Sample() {
    delivered_bytes.push_back(sink->GetTotalRx() - reported_bytes);
    reported_bytes = sink->GetTotalRx();
    cwnd_segments.push_back(static_cast<double>(cwnd_bytes) / mss_bytes);
    Simulator::Schedule(MilliSeconds(500), &Flow::Sample, this);
  }
  void Open() {
    Ptr<Socket> socket = Watch();
    socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::OnCwnd, this));
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::OnState, this));
    if (!learner) {
      return;
    }
    const auto tcp = DynamicCast<TcpSocketBase>(socket);
    if (controller == "dqn_newreno") {
      const auto learned = CreateObject<dqn::NewReno>();
      learned->SetLearner(learner);
      tcp->SetCongestionControlAlgorithm(learned);
    } else {
      const auto learned = CreateObject<dqn::Cubic>();
      learned->SetLearner(learner);
      tcp->SetCongestionControlAlgorithm(learned);
    }
  }
};

// Holds each packet for a time drawn at random, in order, before it may go on.
class Jitter : public SimpleRefCount<Jitter> {
 public:
  Jitter(Ptr<PointToPointNetDevice> device, double most_ms) : device_(device), most_ms_(most_ms) {}

  // In the place of the node's own callback, which is called later.
  void Install(Ptr<Node> node) {
    node_ = node;
    device_->SetReceiveCallback(MakeCallback(&Jitter::OnReceive, this));
  }

 private:
  bool OnReceive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address& from) {
    const Time wanted = Simulator::Now() + Seconds(1e-3 * draw_->GetValue(0, most_ms_));
    last_ = std::max(last_, wanted);
    Simulator::ScheduleWithContext(node_->GetId(), last_ - Simulator::Now(), &Jitter::Deliver, this, device,
                                   packet->Copy(), protocol, from);
    return true;
  }
  void Deliver(Ptr<NetDevice> device, Ptr<Packet> packet, uint16_t protocol, Address from) {
    node_->GetObject<TrafficControlLayer>()->Receive(device, packet, protocol, from, device_->GetAddress(),
                                                     NetDevice::PACKET_HOST);
  }

  Ptr<PointToPointNetDevice> device_;
  Ptr<Node> node_;
  double most_ms_;
  Time last_{0};
  Ptr<UniformRandomVariable> draw_ = CreateObject<UniformRandomVariable>();
};

class Testbed {
 public:
  explicit Testbed(const Options& o) : options_(o) {
    for (const std::string& controller : testbed::Split(o.controllers)) {
      flows_.push_back({});
      flows_.back().controller = controller;
    }
    routers_.Create(2);
    left_.Create(flows_.size());
    right_.Create(flows_.size());
    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.InstallAll();
    Connect(routers_.Get(0), routers_.Get(1), o.rates, o.delay_ms);
    for (uint32_t i = 0; i < flows_.size(); ++i) {
      const std::string& rates = i == 0 ? o.access1 : o.access2;
      const NetDeviceContainer devices =
          Connect(left_.Get(i), routers_.Get(0), rates, i == 0 ? o.access1_delay_ms : o.access2_delay_ms);
      if (o.jitter_ms > 0) {
        auto jitter = Create<Jitter>(DynamicCast<PointToPointNetDevice>(devices.Get(1)), o.jitter_ms);
        jitter->Install(routers_.Get(0));
        jitters_.push_back(jitter);
      }
      Connect(routers_.Get(1), right_.Get(i), flows_.size() == 1 ? o.access1 : "100", 0.01);
    }
    for (uint32_t i = 0; i < flows_.size(); ++i) {
      InstallFlow(i);
    }
  }

  void Run() {
    Simulator::Stop(Seconds(options_.duration_s) + MilliSeconds(1));
    Simulator::Run();
  }

  void PrintJson() const {
    std::cout << "{\"events\": " << Simulator::GetEventCount() << ", \"flows\": [";
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = flows_[i];
      std::cout << (i > 0 ? ", " : "") << "{\"controller\": \"" << flow.controller << "\", \"start_s\": " << flow.start_s
                << ", \"retransmitted\": " << flow.segments.again();
      if (flow.learner) {
        const dqn::Agent& agent = flow.learner->agent();
        std::cout << ", \"tuples\": " << agent.tuples() << ", \"decisions\": " << agent.decisions()
                  << ", \"learning_steps\": " << agent.steps();
      }
      Print("reductions_s", flow.reductions_s);
      Print("delivered_bytes", flow.delivered_bytes);
      Print("cwnd_segments", flow.cwnd_segments);
      std::cout << "}";
    }
    std::cout << "]}\n";
  }

 private:
  template <typename T>
  static void Print(const std::string& name, const std::vector<T>& numbers) {
    std::cout << ", \"" << name << "\": [";
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::cout << (i > 0 ? ", " : "") << numbers[i];
    }
    std::cout << "]";
  }

  NetDeviceContainer Connect(Ptr<Node> from, Ptr<Node> to, const std::string& rates, double delay_ms) {
    const std::vector<std::string> each = testbed::Split(rates);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(each[0] + "Mbps"));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(1e-3 * delay_ms)));
    if (options_.queue_packets > 0) {
      link.DisableFlowControl();
      const QueueSize size(PACKETS, options_.queue_packets);
      link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(size));
    }
    const NetDeviceContainer devices = link.Install(from, to);
    addresses_.Assign(devices);
    addresses_.NewNetwork();
    for (size_t i = 1; i < each.size(); ++i) {
      for (uint32_t end = 0; end < 2; ++end) {
        const auto device = DynamicCast<PointToPointNetDevice>(devices.Get(end));
        Simulator::Schedule(Seconds(50.0 * i), &PointToPointNetDevice::SetDataRate, device, DataRate(each[i] + "Mbps"));
      }
    }
    return devices;
  }

  void InstallFlow(uint32_t i) {
    Flow& flow = flows_[i];
    const bool is_cubic = flow.controller == "cubic";
    const TypeId type = is_cubic ? TcpCubic::GetTypeId() : TcpNewReno::GetTypeId();
    left_.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(type));
    flow.learner = Learner(flow.controller, i);
    flow.start_s = i == 0 ? 0 : options_.start2_s;
    flow.mss_bytes = options_.mss_bytes;
    flow.Install(left_.Get(i), right_.Get(i), kPort, options_.mss_bytes);
    Simulator::Schedule(Seconds(flow.start_s) + NanoSeconds(1), &Flow::Open, &flow);
    Simulator::Schedule(MilliSeconds(500), &Flow::Sample, &flow);
  }

  std::shared_ptr<dqn::Learner> Learner(const std::string& controller, uint32_t flow) {
    const bool is_newreno = controller == "dqn_newreno";
    if (!is_newreno && controller != "dqn_cubic") {
      return nullptr;
    }
    if (!options_.shared || !agent_) {
      dqn::Settings settings;
      settings.hidden = is_newreno ? std::vector<size_t>(3, 30) : std::vector<size_t>(5, 50);
      const uint64_t seed = 1000 * static_cast<uint64_t>(options_.seed) + flow;
      agent_ = std::make_shared<dqn::Agent>(is_newreno ? 3 : 5, is_newreno ? 7 : 4, settings, seed);
    }
    const auto learn_on = options_.learn_on == "tuple" ? dqn::LearnOn::kTuple : dqn::LearnOn::kAction;
    return std::make_shared<dqn::Learner>(agent_, learn_on);
  }

  const Options options_;
  NodeContainer routers_;
  NodeContainer left_;
  NodeContainer right_;
  Ipv4AddressHelper addresses_{"10.0.0.0", "255.255.255.252"};
  std::vector<Flow> flows_;
  std::vector<Ptr<Jitter>> jitters_;
  std::shared_ptr<dqn::Agent> agent_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  RngSeedManager::SetRun(options.seed);
  options.SetDefaults();
  Testbed testbed(options);
  testbed.Run();
  testbed.PrintJson();
  Simulator::Destroy();
  return 0;
}
