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
#include <sstream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

namespace {

// Longest frame without payload: headers with every option (80 bytes) and PPP.
constexpr uint32_t kLargestAckBytes = 100;
constexpr uint16_t kFirstPort = 5001;

struct Options {
  uint32_t flows = 1;
  uint32_t hosts = 1;
  std::string controller = "TcpCubic";
  std::string rate = "100Mbps";
  std::string access_rate = "10Gbps";
  double rtt_s = 0.06;
  uint32_t queue_packets = 500;
  double duration_s = 50;
  double spacing_s = 0;
  uint32_t mss_bytes = 1448;
  uint32_t initial_window_segments = 10;
  uint32_t initial_ssthresh_segments = 0;
  uint32_t buffer_bytes = 4'000'000;
  uint32_t delayed_ack_segments = 2;
  double min_rto_s = 1;
  bool hystart = false;
  bool sack = true;
  bool watch = false;
  std::string lost_positions;
};

Options ParseOptions(int argc, char** argv) {
  Options o;
  CommandLine cmd(__FILE__);
  cmd.AddValue("flows", "number of flows", o.flows);
  cmd.AddValue("hosts", "number of hosts on each side", o.hosts);
  cmd.AddValue("controller", "ns-3's name of the congestion control", o.controller);
  cmd.AddValue("rate", "rate of the bottleneck", o.rate);
  cmd.AddValue("accessRate", "rate of the access links", o.access_rate);
  cmd.AddValue("rtt", "two-way propagation delay, s", o.rtt_s);
  cmd.AddValue("queue", "limit of the bottleneck's FIFO, packets", o.queue_packets);
  cmd.AddValue("duration", "simulated time, s", o.duration_s);
  cmd.AddValue("spacing", "from the start of one flow to that of the next, s", o.spacing_s);
  cmd.AddValue("mss", "payload of a segment, bytes", o.mss_bytes);
  cmd.AddValue("initialWindow", "initial window, segments", o.initial_window_segments);
  cmd.AddValue("initialSsthresh", "initial ssthresh, segments; 0 is arbitrarily high", o.initial_ssthresh_segments);
  cmd.AddValue("buffer", "send buffer of a flow, bytes", o.buffer_bytes);
  cmd.AddValue("delayedAck", "segments for each ACK", o.delayed_ack_segments);
  cmd.AddValue("minRto", "lower bound of the retransmission timeout, s", o.min_rto_s);
  cmd.AddValue("hystart", "CUBIC: leave slow start early", o.hystart);
  cmd.AddValue("sack", "selective acknowledgements", o.sack);
  cmd.AddValue("watch", "report the congestion episodes of the first flow", o.watch);
  cmd.AddValue("lose", "positions of data packets to drop behind the bottleneck, from 1: 100,101", o.lost_positions);
  cmd.Parse(argc, argv);
  return o;
}

void SetDefaults(const Options& o) {
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + o.controller)));
  Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.mss_bytes));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(o.buffer_bytes));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1U << 30));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(o.initial_window_segments));
  if (o.initial_ssthresh_segments > 0) {
    const uint32_t ssthresh_bytes = o.initial_ssthresh_segments * o.mss_bytes;
    Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(ssthresh_bytes));
  }
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.delayed_ack_segments));
  Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(o.min_rto_s)));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
  Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(o.hystart));
}

// Drops the data packets at the given positions, retransmissions counted too.
class DataPacketDiscarder : public ErrorModel {
 public:
  explicit DataPacketDiscarder(const std::string& positions) {
    std::istringstream list(positions);
    for (std::string position; std::getline(list, position, ',');) {
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
struct Flow {
  Ptr<BulkSendApplication> source;
  Ptr<PacketSink> sink;
  double start_s = 0;
  SequenceNumber32 next_new;
  bool has_sent = false;
  uint64_t sent_segments = 0;
  uint64_t retransmitted_segments = 0;
  uint32_t cwnd_bytes = 0;
  uint32_t ssthresh_bytes = 0;
  std::vector<Episode> episodes;

  void OnSend(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    const uint32_t payload_bytes = packet->GetSize();
    if (payload_bytes == 0) {
      return;
    }
    ++sent_segments;
    const SequenceNumber32 seq = header.GetSequenceNumber();
    if (has_sent && seq < next_new) {
      ++retransmitted_segments;
    } else {
      next_new = seq + payload_bytes;
      has_sent = true;
    }
  }
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
    Ptr<Socket> socket = source->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::OnSend, this));
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
                << ", \"sent_segments\": " << flow.sent_segments
                << ", \"retransmitted_segments\": " << flow.retransmitted_segments << "}";
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
    const Ptr<Node> from = left_.Get(i % options_.hosts);
    const Ptr<Node> to = right_.Get(i % options_.hosts);
    const auto port = static_cast<uint16_t>(kFirstPort + i / options_.hosts);
    const Ipv4Address target = to->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();

    Flow& flow = flows_[i];
    flow.start_s = options_.spacing_s * i;
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(target, port));
    source.SetAttribute("SendSize", UintegerValue(options_.mss_bytes));
    flow.source = DynamicCast<BulkSendApplication>(source.Install(from).Get(0));
    flow.source->SetStartTime(Seconds(flow.start_s));
    // The socket exists from the start of the application on.
    Simulator::Schedule(Seconds(flow.start_s) + NanoSeconds(1), &Flow::Connect, &flow, options_.watch && i == 0);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    flow.sink = DynamicCast<PacketSink>(sink.Install(to).Get(0));
    flow.sink->SetStartTime(Seconds(0));
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
