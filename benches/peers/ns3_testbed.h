// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the programs on ns-3 have in common: the options of TCP, a bulk flow from host to host, and what is counted of it.
//
// Departures from ns-3's defaults: segments of 1448 bytes, an initial window of ten, and receive buffers that do not limit.

#ifndef ACKCLOCK_NS3_TESTBED_H
#define ACKCLOCK_NS3_TESTBED_H

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

namespace testbed {

struct TcpOptions {
  double duration_s = 50;
  uint32_t mss_bytes = 1448;
  uint32_t initial_window_segments = 10;
  uint32_t buffer_bytes = 4'000'000;
  uint32_t delayed_ack_segments = 2;
  bool hystart = false;

  void AddTo(ns3::CommandLine& cmd) {
    cmd.AddValue("duration", "simulated time, s", duration_s);
    cmd.AddValue("mss", "payload of a segment, bytes", mss_bytes);
    cmd.AddValue("initialWindow", "initial window, segments", initial_window_segments);
    cmd.AddValue("buffer", "send buffer of a flow, bytes", buffer_bytes);
    cmd.AddValue("delayedAck", "segments for each ACK", delayed_ack_segments);
    cmd.AddValue("hystart", "HyStart in CUBIC: leave slow start early", hystart);
  }

  // Before any node has a stack.
  void SetDefaults() const {
    using namespace ns3;
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss_bytes));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1U << 30));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initial_window_segments));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayed_ack_segments));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
  }
};

// The parts of a list with commas.
inline std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream list(text);
  for (std::string part; std::getline(list, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

// Segments that leave with data, and those among them that left before.
class SentSegments {
 public:
  void OnSend(ns3::Ptr<const ns3::Packet> packet, const ns3::TcpHeader& header, ns3::Ptr<const ns3::TcpSocketBase>) {
    const uint32_t payload_bytes = packet->GetSize();
    if (payload_bytes == 0) {
      return;
    }
    ++sent_;
    const ns3::SequenceNumber32 seq = header.GetSequenceNumber();
    if (has_sent_ && seq < next_new_) {
      ++again_;
    } else {
      next_new_ = seq + payload_bytes;
      has_sent_ = true;
    }
  }
  uint64_t sent() const { return sent_; }
  uint64_t again() const { return again_; }

 private:
  ns3::SequenceNumber32 next_new_;
  bool has_sent_ = false;
  uint64_t sent_ = 0;
  uint64_t again_ = 0;
};

// A sender without end and its receiver.
struct BulkFlow {
  double start_s = 0;
  ns3::Ptr<ns3::BulkSendApplication> source;
  ns3::Ptr<ns3::PacketSink> sink;
  SentSegments segments;

  // The socket exists from the start of the application on: what looks at it comes just after start_s.
  void Install(ns3::Ptr<ns3::Node> from, ns3::Ptr<ns3::Node> to, uint16_t port, uint32_t send_bytes) {
    using namespace ns3;
    const Ipv4Address target = to->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(target, port));
    sender.SetAttribute("SendSize", UintegerValue(send_bytes));
    source = DynamicCast<BulkSendApplication>(sender.Install(from).Get(0));
    source->SetStartTime(Seconds(start_s));
    PacketSinkHelper receiver("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    sink = DynamicCast<PacketSink>(receiver.Install(to).Get(0));
    sink->SetStartTime(Seconds(0));
  }

  ns3::Ptr<ns3::Socket> Watch() {
    ns3::Ptr<ns3::Socket> socket = source->GetSocket();
    socket->TraceConnectWithoutContext("Tx", ns3::MakeCallback(&SentSegments::OnSend, &segments));
    return socket;
  }
};

}  // namespace testbed

#endif  // ACKCLOCK_NS3_TESTBED_H
