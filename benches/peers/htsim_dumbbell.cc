// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The peer of ackclock's dumbbell on htsim (github.com/Broadcom/csg-htsim, BSD 2-Clause): bulk TCP flows share one
// bottleneck. It takes the options of ns3_dumbbell.cc and prints the same JSON.
//
//   source, access queue, bottleneck queue, pipe, access queue, sink
//
// and the same way back. As in ns3_dumbbell.cc, flows share the access queues of a few hosts and the propagation delay
// is all in the pipe: access links have no pipe, which saves htsim an event a packet.
//
// Departures: htsim's TCP is NewReno without SACK, delayed ACKs or options, and its senders always have data ("buffer"
// is ignored). An ACK has 40 octets. A packet here has as many octets as one of ackclock's with its headers, since
// htsim counts windows in whole packets.
//
// CPU time is that of the event loop, without set-up. Nothing is counted by a callback: htsim's own sums are read.

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

// htsim's list of names for its log files. They belong to loggers.cpp, which needs every protocol of htsim; nothing is
// logged here.
LoggedManager Logged::_logged_manager;
LoggedManager::LoggedManager() {}
void LoggedManager::add_logged(Logged*) {}

namespace {

// IPv4, TCP and timestamps, and the framing of ns-3's links.
constexpr int kHeaderBytes = 20 + 20 + 12 + 2;
// How often htsim looks for retransmission timers that have expired, as in its own examples.
constexpr double kTimerScanS = 0.01;
constexpr uint64_t kUnlimited = UINT32_MAX;
// A queue that never drops.
constexpr mem_b kUnlimitedBytes = INT64_MAX / 2;

class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
      const size_t equals = argument.find('=');
      if (argument.rfind("--", 0) != 0 || equals == std::string::npos) {
        Fail(argument + ": write --NAME=VALUE");
      }
      values_[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    }
  }

  double Take(const std::string& name, double otherwise) {
    const std::string text = TakeText(name, "");
    return text.empty() ? otherwise : std::stod(text);
  }

  // A rate such as 100Mbps or 10Gbps.
  linkspeed_bps TakeRate(const std::string& name, const std::string& otherwise) {
    const std::string text = TakeText(name, otherwise);
    size_t digits = 0;
    const double number = std::stod(text, &digits);
    const std::map<std::string, double> units{{"Mbps", 1e6}, {"Gbps", 1e9}};
    const auto unit = units.find(text.substr(digits));
    if (unit == units.end()) {
      Fail("--" + name + "=" + text + ": a rate ends in Mbps or Gbps");
    }
    return static_cast<linkspeed_bps>(number * unit->second);
  }

  void Ignore(const std::string& name) { values_.erase(name); }

  void RefuseOthers() const {
    if (!values_.empty()) {
      Fail("--" + values_.begin()->first + ": unknown option");
    }
  }

 private:
  [[noreturn]] static void Fail(const std::string& what) {
    std::cerr << "htsim_dumbbell: " << what << "\n";
    std::exit(2);
  }

  std::string TakeText(const std::string& name, const std::string& otherwise) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      return otherwise;
    }
    const std::string text = found->second;
    values_.erase(found);
    return text;
  }

  std::map<std::string, std::string> values_;
};

struct Options {
  explicit Options(Arguments arguments) {
    flows = static_cast<size_t>(arguments.Take("flows", 1));
    hosts = static_cast<size_t>(arguments.Take("hosts", 1));
    rate = arguments.TakeRate("rate", "100Mbps");
    access_rate = arguments.TakeRate("accessRate", "10Gbps");
    rtt_s = arguments.Take("rtt", 0.06);
    queue_packets = static_cast<mem_b>(arguments.Take("queue", 500));
    duration_s = arguments.Take("duration", 10);
    spacing_s = arguments.Take("spacing", 0);
    initial_ssthresh_segments = static_cast<uint64_t>(arguments.Take("initialSsthresh", 0));
    mss_bytes = static_cast<int>(arguments.Take("mss", 1448));
    initial_window_segments = static_cast<uint64_t>(arguments.Take("initialWindow", 10));
    arguments.Ignore("buffer");
    arguments.RefuseOthers();
  }

  int PacketBytes() const { return mss_bytes + kHeaderBytes; }

  size_t flows;
  size_t hosts;
  linkspeed_bps rate;
  linkspeed_bps access_rate;
  double rtt_s;
  mem_b queue_packets;
  double duration_s;
  double spacing_s;
  uint64_t initial_ssthresh_segments;
  int mss_bytes;
  uint64_t initial_window_segments;
};

// A sender that remembers how far it has sent: after a timeout htsim sends from the hole on again, as if for the first
// time.
class Source : public TcpSrc {
 public:
  using TcpSrc::TcpSrc;

  // htsim calls this at each loss and timeout, before it turns back.
  void deflate_window() override {
    furthest_bytes_ = FurthestBytes();
    TcpSrc::deflate_window();
  }

  uint64_t SentSegments() const { return _packets_sent / _mss; }
  // The SYN has one octet of the sequence space.
  uint64_t RetransmittedSegments() const {
    return SentSegments() - (std::max<uint64_t>(FurthestBytes(), 1) - 1) / _mss;
  }

 private:
  uint64_t FurthestBytes() const { return std::max(furthest_bytes_, _highest_sent); }

  uint64_t furthest_bytes_ = 0;
};

// One direction: the access queues of the hosts on both sides, and the bottleneck between them.
struct Direction {
  Direction(const Options& o, mem_b limit_bytes, EventList& events)
      : bottleneck(o.rate, limit_bytes, events, nullptr), pipe(timeFromSec(o.rtt_s / 2), events) {
    for (size_t i = 0; i < o.hosts; ++i) {
      first.push_back(std::make_unique<Queue>(o.access_rate, kUnlimitedBytes, events, nullptr));
      last.push_back(std::make_unique<Queue>(o.access_rate, kUnlimitedBytes, events, nullptr));
    }
  }

  std::unique_ptr<Route> To(size_t host, PacketSink& end) {
    auto route = std::make_unique<Route>();
    for (PacketSink* hop : {static_cast<PacketSink*>(first[host].get()), static_cast<PacketSink*>(&bottleneck),
                            static_cast<PacketSink*>(&pipe), static_cast<PacketSink*>(last[host].get()), &end}) {
      route->push_back(hop);
    }
    return route;
  }

  Queue bottleneck;
  Pipe pipe;
  std::vector<std::unique_ptr<Queue>> first;
  std::vector<std::unique_ptr<Queue>> last;
};

struct Flow {
  Flow(const Options& o, EventList& events) : source(nullptr, nullptr, events) {
    const uint64_t packet_bytes = o.PacketBytes();
    source.set_cwnd(o.initial_window_segments * packet_bytes);
    source.set_ssthresh(o.initial_ssthresh_segments > 0 ? o.initial_ssthresh_segments * packet_bytes : kUnlimited);
  }

  Source source;
  TcpSink sink;
  std::unique_ptr<Route> out;
  std::unique_ptr<Route> back;
};

class Dumbbell {
 public:
  // htsim counts the packet in service as one that waits.
  explicit Dumbbell(const Options& o)
      : options_(o),
        events_(EventList::getTheEventList()),
        out_(o, (o.queue_packets + 1) * o.PacketBytes(), events_),
        back_(o, kUnlimitedBytes, events_),
        timers_(timeFromSec(kTimerScanS), events_) {
    for (size_t i = 0; i < o.flows; ++i) {
      auto flow = std::make_unique<Flow>(o, events_);
      flow->out = out_.To(i % o.hosts, flow->sink);
      flow->back = back_.To(i % o.hosts, flow->source);
      flow->source.connect(*flow->out, *flow->back, flow->sink, timeFromSec(o.spacing_s * i));
      timers_.registerTcp(flow->source);
      flows_.push_back(std::move(flow));
    }
  }

  void Run() {
    rusage before{};
    rusage after{};
    events_.setEndtime(timeFromSec(options_.duration_s));
    // htsim prints a line for each timeout.
    std::cout.setstate(std::ios_base::failbit);
    getrusage(RUSAGE_SELF, &before);
    while (events_.doNextEvent()) {
    }
    getrusage(RUSAGE_SELF, &after);
    std::cout.clear();
    cpu_s_ = CpuSeconds(after) - CpuSeconds(before);
    max_rss_kib_ = after.ru_maxrss;
  }

  void PrintJson() const {
    uint64_t delivered_packets = 0;
    for (const auto& flow : flows_) {
      // The name is htsim's; the unit is octets, and the SYN's octet is lost in the division.
      delivered_packets += flow->sink._packets / options_.PacketBytes();
    }
    std::cout << "{\"simulator\": \"htsim\", \"cpu_s\": " << cpu_s_ << ", \"max_rss_kib\": " << max_rss_kib_
              << ", \"duration_s\": " << options_.duration_s << ", \"delivered_packets\": " << delivered_packets
              << ", \"drops\": " << out_.bottleneck.num_drops() << ", \"flows\": [";
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = *flows_[i];
      std::cout << (i > 0 ? ", " : "")
                << "{\"delivered_bytes\": " << flow.sink._cumulative_ack / options_.PacketBytes() * options_.mss_bytes
                << ", \"sent_segments\": " << flow.source.SentSegments()
                << ", \"retransmitted_segments\": " << flow.source.RetransmittedSegments() << "}";
    }
    std::cout << "], \"episodes\": []}\n";
  }

 private:
  static double CpuSeconds(const rusage& usage) {
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  const Options options_;
  EventList& events_;
  Direction out_;
  Direction back_;
  TcpRtxTimerScanner timers_;
  std::vector<std::unique_ptr<Flow>> flows_;
  double cpu_s_ = 0;
  int64_t max_rss_kib_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options{Arguments(argc, argv)};
  Packet::set_packet_size(options.PacketBytes());
  Dumbbell dumbbell(options);
  dumbbell.Run();
  dumbbell.PrintJson();
  return 0;
}
