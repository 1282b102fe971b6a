// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The peer of ackclock's dumbbell on ns-3: bulk TCP flows share one bottleneck.
//
//   hosts --access-- router --bottleneck-- router --access-- hosts
//
// Flows share hosts when there are many: ns-3 walks through all links of a router, and through all connections of a
// host, for every packet, so its time is least where both numbers are small. Where the hosts are changes nothing else,
// since access links are fast and without delay.
//
// Point-to-point links without queueing disciplines above them: what waits, waits in the device's FIFO. SACK, timestamps
// and window scaling are on, recovery is PRR, as ackclock's defaults are. Prints one JSON object.
//
// CPU time is that of Simulator::Run, without set-up. What is counted costs two callbacks a packet, far below what
// ns-3 itself spends on one.

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "ns3_testbed.h"

#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

namespace {

// Longest frame without payload: headers with every option (80 bytes) and PPP.
constexpr uint32_t kLargestAckBytes = 100;
constexpr uint16_t kFirstPort = 5001;

struct Options : testbed::TcpOptions {
  uint32_t flows = 1;
  uint32_t hosts = 1;
  std::string controller = "TcpCubic";
  std::string rate = "100Mbps";
  std::string access_rate = "10Gbps";
  double rtt_s = 0.06;
  uint32_t queue_packets = 500;
  double spacing_s = 0;
  uint32_t initial_ssthresh_segments = 0;
  double min_rto_s = 1;
  bool sack = true;
  bool watch = false;
  std::string lost_positions;
};

Options ParseOptions(int argc, char** argv) {
  Options o;
  CommandLine cmd(__FILE__);
  o.AddTo(cmd);
  cmd.AddValue("flows", "number of flows", o.flows);
  cmd.AddValue("hosts", "number of hosts on each side", o.hosts);
  cmd.AddValue("controller", "ns-3's name of the congestion control", o.controller);
  cmd.AddValue("rate", "rate of the bottleneck", o.rate);
  cmd.AddValue("accessRate", "rate of the access links", o.access_rate);
  cmd.AddValue("rtt", "two-way propagation delay, s", o.rtt_s);
  cmd.AddValue("queue", "limit of the bottleneck's FIFO, packets", o.queue_packets);
  cmd.AddValue("spacing", "from the start of one flow to that of the next, s", o.spacing_s);
  cmd.AddValue("initialSsthresh", "initial ssthresh, segments; 0 is arbitrarily high", o.initial_ssthresh_segments);
  cmd.AddValue("minRto", "lower bound of the retransmission timeout, s", o.min_rto_s);
  cmd.AddValue("sack", "selective acknowledgements", o.sack);
  cmd.AddValue("watch", "report the congestion episodes of the first flow", o.watch);
  cmd.AddValue("lose", "positions of data packets to drop behind the bottleneck, from 1: 100,101", o.lost_positions);
  cmd.Parse(argc, argv);
  return o;
}

void SetDefaults(const Options& o) {
  o.testbed::TcpOptions::SetDefaults();
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + o.controller)));
  Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
  if (o.initial_ssthresh_segments > 0) {
    const uint32_t ssthresh_bytes = o.initial_ssthresh_segments * o.mss_bytes;
    Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(ssthresh_bytes));
  }
  Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(o.min_rto_s)));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
}

// Drops the data packets at the given positions, retransmissions counted too.
class DataPacketDiscarder : public ErrorModel {
 public:
  explicit DataPacketDiscarder(const std::string& positions) {
    for (const std::string& position : testbed::Split(positions)) {
      positions_.insert(std::stoull(position));
    }
  }

 private:
  bool DoCorrupt(Ptr<Packet> packet) override {
    return packet->GetSize() > kLargestAckBytes && positions_.count(++seen_) > 0;
  }
  void DoReset() override { seen_ = 0; }

  std::set<uint64_t> positions_;
  uint64_t seen_ = 0;
};

// A congestion episode of the first flow.
struct Episode {
  double time_s;
  std::string cause;
  uint32_t cwnd_bytes;
  uint32_t ssthresh_after_bytes;
};

// What is counted of one flow.
struct Flow : testbed::BulkFlow {
  uint32_t cwnd_bytes = 0;
  uint32_t ssthresh_bytes = 0;
  std::vector<Episode> episodes;

  void OnCwnd(uint32_t, uint32_t now) { cwnd_bytes = now; }
  void OnSsthresh(uint32_t, uint32_t now) {
    ssthresh_bytes = now;
    if (!episodes.empty() && episodes.back().time_s == Simulator::Now().GetSeconds()) {
      episodes.back().ssthresh_after_bytes = now;
    }
  }
  void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) {
    // The state changes before ssthresh and the window do; an ssthresh that stays as it was is not reported.
    if (now == TcpSocketState::CA_RECOVERY || now == TcpSocketState::CA_LOSS) {
      const std::string cause = now == TcpSocketState::CA_LOSS ? "timeout" : "loss";
      episodes.push_back({Simulator::Now().GetSeconds(), cause, cwnd_bytes, ssthresh_bytes});
    }
  }
  void Connect(bool watch) {
    Ptr<Socket> socket = Watch();
    if (watch) {
      socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::OnCwnd, this));
      socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Flow::OnSsthresh, this));
      socket->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::OnState, this));
    }
  }
};

class Dumbbell {
 public:
  explicit Dumbbell(const Options& o) : options_(o), flows_(o.flows) {
    routers_.Create(2);
    left_.Create(o.hosts);
    right_.Create(o.hosts);
    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.InstallAll();
    ConnectBottleneck();
    for (uint32_t i = 0; i < o.hosts; ++i) {
      ConnectHosts(i);
    }
    for (uint32_t i = 0; i < o.flows; ++i) {
      InstallFlow(i);
    }
  }

  void Run() {
    rusage before{};
    rusage after{};
    Simulator::Stop(Seconds(options_.duration_s));
    getrusage(RUSAGE_SELF, &before);
    Simulator::Run();
    getrusage(RUSAGE_SELF, &after);
    cpu_s_ = CpuSeconds(after) - CpuSeconds(before);
    max_rss_kib_ = after.ru_maxrss;
  }

  void PrintJson() const {
    std::cout << "{\"simulator\": \"ns-3\", \"cpu_s\": " << cpu_s_ << ", \"max_rss_kib\": " << max_rss_kib_
              << ", \"duration_s\": " << options_.duration_s << ", \"delivered_packets\": " << delivered_packets_
              << ", \"drops\": " << drops_ << ", \"events\": " << Simulator::GetEventCount() << ", \"flows\": [";
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = flows_[i];
      const double goodput_bps = 8.0 * flow.sink->GetTotalRx() / (options_.duration_s - flow.start_s);
      std::cout << (i > 0 ? ", " : "") << "{\"delivered_bytes\": " << flow.sink->GetTotalRx() << ", \"goodput_bps\": " << goodput_bps
                << ", \"sent_segments\": " << flow.segments.sent()
                << ", \"retransmitted_segments\": " << flow.segments.again() << "}";
    }
    std::cout << "], \"episodes\": [";
    const std::vector<Episode>& episodes = flows_.front().episodes;
    for (size_t i = 0; i < episodes.size(); ++i) {
      std::cout << (i > 0 ? ", " : "") << "{\"time_s\": " << episodes[i].time_s << ", \"cause\": \""
                << episodes[i].cause << "\", \"cwnd_bytes\": " << episodes[i].cwnd_bytes
                << ", \"ssthresh_after_bytes\": " << episodes[i].ssthresh_after_bytes << "}";
    }
    std::cout << "]}\n";
  }

 private:
  static double CpuSeconds(const rusage& usage) {
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  void ConnectBottleneck() {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(options_.rate));
    // The propagation delay is all here; access links have none.
    link.SetChannelAttribute("Delay", TimeValue(Seconds(options_.rtt_s / 2)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(PACKETS, options_.queue_packets)));
    const NetDeviceContainer devices = Connect(link, routers_.Get(0), routers_.Get(1));
    const auto sender = DynamicCast<PointToPointNetDevice>(devices.Get(0));
    const auto receiver = DynamicCast<PointToPointNetDevice>(devices.Get(1));
    sender->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Dumbbell::OnDrop, this));
    receiver->TraceConnectWithoutContext("MacRx", MakeCallback(&Dumbbell::OnDelivery, this));
    if (!options_.lost_positions.empty()) {
      receiver->SetReceiveErrorModel(CreateObject<DataPacketDiscarder>(options_.lost_positions));
      receiver->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Dumbbell::OnDrop, this));
    }
  }

  void ConnectHosts(uint32_t i) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(options_.access_rate));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    Connect(link, left_.Get(i), routers_.Get(0));
    Connect(link, routers_.Get(1), right_.Get(i));
  }

  void InstallFlow(uint32_t i) {
    const auto port = static_cast<uint16_t>(kFirstPort + i / options_.hosts);
    Flow& flow = flows_[i];
    flow.start_s = options_.spacing_s * i;
    flow.Install(left_.Get(i % options_.hosts), right_.Get(i % options_.hosts), port, options_.mss_bytes);
    Simulator::Schedule(Seconds(flow.start_s) + NanoSeconds(1), &Flow::Connect, &flow, options_.watch && i == 0);
  }

  NetDeviceContainer Connect(PointToPointHelper& link, Ptr<Node> from, Ptr<Node> to) {
    // Else the layer above would queue by a discipline of its own, and drop in place of a full device.
    link.DisableFlowControl();
    const NetDeviceContainer devices = link.Install(from, to);
    addresses_.Assign(devices);
    addresses_.NewNetwork();
    return devices;
  }

  void OnDrop(Ptr<const Packet>) { ++drops_; }
  void OnDelivery(Ptr<const Packet> packet) { delivered_packets_ += packet->GetSize() > kLargestAckBytes ? 1 : 0; }

  const Options options_;
  NodeContainer routers_;
  NodeContainer left_;
  NodeContainer right_;
  Ipv4AddressHelper addresses_{"10.0.0.0", "255.255.255.252"};
  std::vector<Flow> flows_;
  uint64_t delivered_packets_ = 0;
  uint64_t drops_ = 0;
  double cpu_s_ = 0;
  int64_t max_rss_kib_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  SetDefaults(options);
  Dumbbell dumbbell(options);
  dumbbell.Run();
  dumbbell.PrintJson();
  Simulator::Destroy();
  return 0;
}
