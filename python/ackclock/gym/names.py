"""Names of the catalogue of agents, for completion in editors; `ackclock list agents` describes them."""

from typing import Literal

ObservationName = Literal[
    "cwnd_segments", "ssthresh_segments", "threshold_segments", "w_max_segments", "flight_size_segments",
    "acked_segments", "sent_segments", "lost_segments", "rtt_ms", "srtt_ms", "rttvar_ms", "min_rtt_ms", "mean_rtt_ms",
    "queueing_delay_ms", "since_congestion_ms", "interval_ms", "delivery_rate_bps", "max_delivery_rate_bps",
    "send_rate_bps", "window_rate_bps", "pacing_rate_bps", "loss_fraction", "marked_fraction", "in_slow_start",
    "in_recovery", "latency_gradient", "latency_ratio", "send_ratio", "delivery_ratio", "queue_share",
    "queued_segments", "window_ratio", "recent_delivery_ratio", "standing_queue_share", "peak_queue_share",
    "recent_loss_fraction", "delivery_trend", "window_trend", "rtt_trend", "acks",
]  # fmt: skip
"""Observations of an agent; the last part of the name is the unit."""

DecisionName = Literal["ack", "window", "round", "cubic_pace"]
"""Decision times of an agent; a time such as "20 ms" is also possible."""

ActionName = Literal["deltas", "cubic_pace", "aurora", "orca", "paced_window", "pacing_rate", "cwnd"]
"""Actions of an agent."""

RewardName = Literal["dqn", "aurora", "orca", "log_utility", "alpha_fairness", "power", "copa", "none"]
"""Rewards of an agent."""

Side = Literal["stack", "agent"]
"""Side that does something: the rest of the flow's TCP, or the agent."""

Target = Literal["engine", "kernel"]
"""Place in which an agent's policy is to run."""

RenderMode = Literal["rgb_array", "human"]
"""Rendering of an episode: as arrays, or in a window."""
