"""A study.

Controllers, paths and seeds in one table; every figure that a study ends with comes from it. As a file:
`ackclock study FILE`.
"""

import ackclock

study = ackclock.study(
    {
        "name": "CUBIC and BBRv3",
        "controllers": ["cubic", "bbr3"],
        "seeds": 3,
        "duration": "20 s",
        "warm_up": "5 s",
        "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": ["0.5 bdp", "2 bdp"]},
    }
)

figures = {drawn.name: drawn.draw() for drawn in study.figures()}
