"""Networks that many tests write: a dumbbell whose bottleneck is what matters, and a path of random loss alone."""


def dumbbell(bottleneck: str, delay: str = "1 ms", rate: str = "1 Gbit/s", limit: str = "") -> str:
    """Return the topology of a scenario, as TOML.

    Args:
        bottleneck: Fields of the bottleneck.
        delay: Delay of the links to the hosts.
        rate: Data rate of the links to the hosts.
        limit: Length of the bottleneck's drop-tail queue; empty for the default.
    """
    queue = f', queue = {{ kind = "drop_tail", limit = "{limit}" }}' if limit else ""
    return f"""\
[topology]
kind = "dumbbell"
access = {{ rate = "{rate}", delay = "{delay}" }}
bottleneck = {{ {bottleneck}{queue} }}"""


def ten_over_random_loss(duration: str, controller: str) -> str:
    """Return ten flows over 50 ms that lose one segment in 400, and nothing else: what a law of losses is held to."""
    discard = '[{ kind = "probability", p = 0.0025, of = "data" }]'
    network = dumbbell(f'rate = "10 Gbit/s", delay = "25 ms", discard = {discard}', "0 ms", "10 Gbit/s", "unlimited")
    return f"""\
duration = "{duration}"
trace = false
measure = {{ from = "20 s" }}
tcp = {{ delayed_ack = false }}
{network}
[[flow]]
count = 10
controller = {controller}
"""
