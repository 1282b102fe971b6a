"""A call against a download.

Interactive media under Google's congestion control; the download begins after half a minute.
"""

import ackclock
from ackclock import plots

results = ackclock.run(ackclock.Scenario.load("scenarios/media.toml"))

figures = {
    "media_rate": plots.figure(results, "media_rate"),
    "media_delay": plots.figure(results, "media_delay"),
    "media_queue": plots.figure(results, "media_queue"),
}
