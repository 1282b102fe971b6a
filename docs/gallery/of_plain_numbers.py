"""Figures of plain numbers.

The forms that studies are drawn in take numbers of any origin: yours, a paper's, a kernel's. The numbers here are drawn
at random, to show the forms.
"""

import numpy as np

from ackclock import figures as forms

random = np.random.default_rng(1)
delay, rate = forms.Axis("queueing delay (ms)"), forms.Axis("goodput (Mbit/s)", low=0, high=10)
buffers = [0.5, 1, 2, 4]
seconds = np.arange(0, 20.0)

clouds = [
    forms.Cloud("cubic", list(random.normal(40, 3, 8)), list(random.normal(9, 0.2, 8))),
    forms.Cloud("copa", list(random.normal(8, 2, 8)), list(random.normal(8.4, 0.4, 8))),
]
ellipse = forms.spread(clouds[0].x, clouds[0].y)
mean = forms.Curve("bbr3", buffers, [7.9, 6.0, 4.6, 3.5], [0.3, 0.4, 0.4, 0.5])
index = forms.Curve("cubic", seconds, 1 - 0.5 * np.exp(-seconds / 4), 0.1 * np.exp(-seconds / 9))
window = forms.Curve("reno", seconds, 50 + (10 * seconds) % 50)
waits = {"cubic": random.gamma(4, 12, 400), "copa": random.gamma(2, 4, 400)}
shares = forms.Shares(["cubic", "bbr3"], [[50, 32], [68, 50]], [[2, 4], [4, 3]])
means = [forms.Dot("cubic", "cubic", 9.1, 0.2), forms.Dot("copa", "copa", 8.4, 0.4)]
sorted_waits, part_below = forms.distribution(waits["cubic"])

figures = {
    "scatter": forms.scatter({"": clouds}, delay, rate),
    "over": forms.over({"": [mean]}, forms.Axis("buffer (bdp)", is_log=True), rate),
    "bands": forms.bands({"": [index]}, forms.Axis("time (s)"), forms.Axis("Jain's index", low=0, high=1)),
    "series": forms.series([(forms.Axis("cwnd (segments)"), [window]), (forms.Axis("index"), [index])]),
    "distributions": forms.distributions({"": waits}, delay),
    "matrix": forms.matrix({"": shares}),
    "dots": forms.dots({"": means}, rate),
}
