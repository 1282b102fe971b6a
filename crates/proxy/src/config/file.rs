//! Fields of a configuration file: each with its meaning, default and range. The reference is written from this.

use ackclock_declare::{declare, default, required, unset, words};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::kinds::{Address, HostPort, Interface, Listed, Network, Policy, Ports, ServerName};

words! {
    /// Destination of a listener's connections.
    #[derive(Default)]
    pub enum Mode {
        /// Connections go to one of its upstreams.
        #[default]
        "forward" = Forward,
        /// Connections go where the client meant to go, before a rule of the firewall redirected it here
        /// (`SO_ORIGINAL_DST`).
        "redirect" = Redirect,
        /// Connections go where the client meant to go, from the client's own address (TPROXY).
        "transparent" = Transparent,
    }
}

words! {
    /// Rule that selects the upstream of a connection.
    #[derive(Default)]
    pub enum Balance {
        /// Each in its turn.
        #[default]
        "round_robin" = RoundRobin,
        /// The upstream with the fewest connections.
        "least_connections" = LeastConnections,
        /// The first that is healthy.
        "first" = First,
    }
}

words! {
    /// Format of messages.
    #[derive(Default)]
    pub enum LogFormat {
        /// Text for a person.
        #[default]
        "text" = Text,
        /// A JSON object a line.
        "json" = JsonLines,
    }
}

words! {
    /// The least important messages that are written.
    #[derive(Default)]
    pub enum LogLevel {
        /// Errors that stop the proxy.
        "error" = Error,
        /// Warnings of missing features.
        "warn" = Warn,
        /// Information on the proxy as a whole.
        #[default]
        "info" = Info,
        /// Messages on each connection.
        "debug" = Debug,
    }
}

/// No buffer is larger.
const MAX_BUFFER: Bytes = Bytes(1 << 30);

/// A day: no timeout is longer.
const DAY: SimDuration = SimDuration::from_secs(24 * 3600);

declare! {
    /// The sockets of one side.
    pub struct Side {
        /// Congestion controller, by its name in the kernel.
        congestion: Option<String> = unset("the kernel's default"),
        /// `SO_SNDBUF`: what the socket may hold to be sent or acknowledged.
        send_buffer: Option<Bytes> = unset("the kernel's autotuning").at_least(Bytes(4096)).at_most(MAX_BUFFER),
        /// `SO_RCVBUF`: what the socket may hold that was not read.
        receive_buffer: Option<Bytes> = unset("the kernel's autotuning").at_least(Bytes(4096)).at_most(MAX_BUFFER),
        /// `TCP_WINDOW_CLAMP`: the largest window that is advertised.
        window_clamp: Option<Bytes> = unset("the receive buffer's").at_least(Bytes(2304)).at_most(MAX_BUFFER),
        /// `TCP_NOTSENT_LOWAT`: nothing is handed to the socket while as much in it has not been sent.
        notsent_lowat: Option<Bytes> = unset("the send buffer's").at_least(Bytes(1)).at_most(MAX_BUFFER),
        /// `SO_MAX_PACING_RATE`: never sent faster.
        pacing_rate: Option<Bandwidth> = unset("the controller's").at_least(Bandwidth(8_000)),
        /// Idle time after which the peer is probed.
        // `MAX_TCP_KEEPIDLE` of the kernel's include/net/tcp.h.
        keep_alive: Option<SimDuration> = unset("never").at_least(SimDuration::from_secs(1)).at_most(SimDuration::from_secs(32_767)),
        /// `TCP_USER_TIMEOUT`: time without an acknowledgement after which a peer is given up.
        user_timeout: Option<SimDuration> = unset("the kernel's retries").at_least(SimDuration::from_millis(1)).at_most(DAY),
        /// Differentiated services code point of what is sent.
        dscp: Option<u8> = unset("0").at_most(63).source("RFC 2474"),
        /// The largest segment, both ways.
        // `TCP_MIN_MSS` and `MAX_TCP_WINDOW` of the kernel's include/net/tcp.h.
        mss: Option<u32> = unset("the path's").at_least(88).at_most(32_767).unit("octets"),
        /// Segments leave at once, however small.
        nodelay: Option<bool> = unset("true"),
    }
}

declare! {
    /// Settings for the connections that it fits, before those of the listener. The first that fits is taken.
    pub struct Rule {
        /// Names of the listeners whose connections it fits.
        listeners: Option<Vec<String>> = unset("all"),
        /// Networks of clients that it fits.
        from: Option<Vec<Network>> = unset("all"),
        /// Networks of servers that it fits.
        to: Option<Vec<Network>> = unset("all"),
        /// Ports of servers that it fits.
        ports: Option<Vec<Ports>> = unset("all"),
        /// Least duration of the handshake of clients that it fits.
        near_rtt_from: Option<SimDuration> = unset("0").at_most(DAY),
        /// It fits clients whose handshake took less.
        near_rtt_below: Option<SimDuration> = unset("any").at_most(DAY),
        /// Server names of TLS (SNI) that it fits; `*.` stands for one label or more. Connections that it may fit wait for
        /// their `ClientHello`, for at most `timeouts.hello`; those that are not TLS have no name.
        sni: Option<Vec<ServerName>> = unset("all"),
        /// The servers of connections that it fits, in place of the listener's, with mode forward.
        upstream: Vec<Listed> = Vec::new(),
        /// Connections that it fits are reset.
        refuse: bool = false,
        /// Rule that limits the octets kept between the two sides.
        buffer_policy: Option<Policy> = unset("the listener's"),
        /// The buffer policy of what goes back, from the server to the client.
        buffer_policy_back: Option<Policy> = unset("the listener's"),
    }
    tables {
        /// The side of the client: what is written here goes before what the listener says.
        near: Option<Side> = None,
        /// The side of the server: likewise.
        far: Option<Side> = None,
    }
}

declare! {
    /// A server of a listener.
    pub struct Upstream {
        /// Host and port. A name stands for all its addresses, each a server.
        address: HostPort = required(HostPort("10.0.0.2:80".to_owned())),
        /// Share of connections beside the other servers, of each of its addresses; not with balance "first".
        weight: u32 = default(1).at_least(1).at_most(256),
        /// It gets no new connections; those that it has go on.
        drain: bool = false,
    }
}

declare! {
    /// A listener: where connections are taken, and where they go.
    pub struct Listen {
        /// Name in messages and metrics.
        name: Option<String> = unset("its address"),
        /// Address at which it listens; every address of the host is `0.0.0.0` or `[::]`.
        address: Address = required(Address(std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080))),
        /// Destination of connections.
        mode: Mode = Mode::Forward,
        /// The servers, with mode forward; may be left out where rules have some. Others are reset then.
        upstream: Vec<Listed> = Vec::new(),
        /// Rule that selects one of them for a connection.
        balance: Balance = Balance::RoundRobin,
        /// Interval at which each of several is tried, to find those that do not answer; with one upstream they are not
        /// tried.
        health_interval: SimDuration = default(SimDuration::from_secs(2)).at_least(SimDuration::from_millis(50)).at_most(DAY),
        /// Interval at which names of servers are resolved again; their time to live is not known here (`getaddrinfo(3)`).
        resolve_interval: SimDuration = default(SimDuration::from_secs(30)).at_least(SimDuration::from_millis(100)).at_most(DAY),
        /// Networks that destinations must be in, with modes redirect and transparent.
        destinations: Option<Vec<Network>> = unset("any"),
        /// Networks of clients that are served; others are reset.
        clients: Option<Vec<Network>> = unset("any with redirect and transparent and on a loopback address; else required"),
        /// Networks of clients that begin with a header of the PROXY protocol, of either version, and are believed.
        accept_proxy_protocol: Option<Vec<Network>> = unset("none"),
        /// Send a header of the PROXY protocol, which names the client to the server.
        send_proxy_protocol: bool = false,
        /// Version of the header that is sent: 1 is a line of text, 2 is binary.
        proxy_protocol_version: u8 = default(2).at_least(1).at_most(2),
        /// `SO_MARK` of the sockets towards servers, so that rules of the firewall know them.
        mark: Option<u32> = unset("none"),
        /// Interfaces at which connections are taken with modes redirect and transparent, for `ackclock-proxy rules`.
        interfaces: Option<Vec<Interface>> = unset("all but the loopback"),
        /// The ports of servers whose connections are taken, likewise.
        ports: Option<Vec<Ports>> = unset("all"),
        /// New connections a second, of all threads together; more wait in the queue of `backlog`.
        connection_rate: Option<u32> = unset("unlimited").at_least(1).at_most(1_000_000),
        /// New connections that are taken at once after a pause.
        connection_burst: Option<u32> = unset("connection_rate").at_least(1).at_most(1_000_000),
        /// Connections that wait to be taken.
        backlog: u32 = default(4096).at_least(1).at_most(65_535),
        /// Rule that limits the octets kept between the two sides, of the client's data.
        buffer_policy: Policy = Policy(ackclock_relay::DisciplineConfig::Socket, "socket".to_owned()),
        /// Rule that limits the octets kept between the two sides, of the servers' data.
        buffer_policy_back: Policy = Policy(ackclock_relay::DisciplineConfig::Socket, "socket".to_owned()),
    }
    tables {
        /// The side of the client.
        near: Side = Side::default(),
        /// The side of the server.
        far: Side = Side::default(),
    }
}

declare! {
    /// Limits of connections and memory.
    pub struct Limits {
        /// Connections at a time; more wait to be taken.
        connections: usize = default(100_000).at_least(1).at_most(10_000_000),
        /// Connections at a time of one client's address; more are reset.
        per_source: usize = default(100_000).at_least(1).at_most(10_000_000),
        /// Pipes of each thread; where none is free, octets are copied.
        pipes: usize = default(256).at_most(100_000),
        /// Octets that a pipe is to hold.
        pipe_size: Bytes = default(Bytes(262_144)).at_least(Bytes(4096)).at_most(Bytes(1 << 24)),
        /// Octets that all connections of a thread may keep outside of the kernel while copying.
        memory: Bytes = default(Bytes(64 << 20)).at_least(Bytes(1 << 20)).at_most(Bytes(1 << 40)),
    }
}

declare! {
    /// Longest durations of a connection's stages.
    pub struct Timeouts {
        /// A server has to answer within this.
        connect: SimDuration = default(SimDuration::from_secs(10)).at_least(SimDuration::from_millis(1)).at_most(DAY),
        /// Time without octets in either direction after which a connection is reset.
        idle: SimDuration = default(SimDuration::from_secs(3600)).at_least(SimDuration::from_millis(10)).at_most(DAY),
        /// The same once one direction has ended.
        half_closed: SimDuration = default(SimDuration::from_secs(3600)).at_least(SimDuration::from_millis(10)).at_most(DAY),
        /// A header of the PROXY protocol has to be there within this.
        header: SimDuration = default(SimDuration::from_secs(5)).at_least(SimDuration::from_millis(1)).at_most(DAY),
        /// A `ClientHello` of TLS is waited for as long, where a rule asks for its server name. Without one the connection
        /// goes on and has no name.
        hello: SimDuration = default(SimDuration::from_secs(5)).at_least(SimDuration::from_millis(1)).at_most(DAY),
        /// Time after a reset on one side for data before it to be acknowledged on the other.
        reset: SimDuration = default(SimDuration::from_secs(60)).at_least(SimDuration::from_millis(1)).at_most(DAY),
        /// Time for connections to end after SIGTERM.
        drain: SimDuration = default(SimDuration::from_secs(30)).at_most(DAY),
    }
}

declare! {
    /// Endpoint of measurements.
    pub struct Metrics {
        /// Address at which `/metrics` (OpenMetrics) and `/connections` (JSON) are served, over HTTP.
        address: Option<Address> = unset("nowhere"),
        /// Anyone may read them: without this, only an address of the loopback is allowed.
        public: bool = false,
        /// Measure how long octets wait here for connections without a buffer policy, too.
        latency: bool = false,
    }
}

declare! {
    /// Messages of the proxy.
    pub struct Log {
        /// Format of messages.
        format: LogFormat = LogFormat::Text,
        /// The least important that are written.
        level: LogLevel = LogLevel::Info,
        /// A line at the end of each connection, whatever the level.
        connections: bool = false,
    }
}

declare! {
    /// The whole of a configuration file.
    pub struct File {
        /// Threads that carry octets.
        workers: Option<usize> = unset("one a core").at_least(1).at_most(1024),
        /// Once started it gives up files and calls of the kernel that it does not need (landlock, seccomp); a restart changes it.
        confine: bool = true,
        /// Listeners, each with its address and upstreams.
        listen: Vec<Listen> = Vec::new(),
        /// Settings of particular connections.
        rule: Vec<Rule> = Vec::new(),
    }
    tables {
        /// Limits of connections and memory.
        limits: Limits = Limits::default(),
        /// Longest durations of a connection's stages.
        timeouts: Timeouts = Timeouts::default(),
        /// Endpoint of measurements.
        metrics: Metrics = Metrics::default(),
        /// Messages of the proxy.
        log: Log = Log::default(),
    }
}
