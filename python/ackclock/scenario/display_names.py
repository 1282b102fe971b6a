"""Display names of the built-in controllers and queues, as papers write them; files and tables keep the short names."""

from collections.abc import Mapping
from typing import Final

DISPLAY_NAMES: Final[Mapping[str, str]] = {
    "tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "cubic": "CUBIC", "aimd": "AIMD", "bic": "BIC",
    "highspeed": "HighSpeed", "htcp": "H-TCP", "hybla": "Hybla", "illinois": "Illinois", "scalable": "Scalable",
    "veno": "Veno", "westwood": "Westwood+", "yeah": "YeAH", "cdg": "CDG", "lp": "TCP-LP", "nv": "TCP-NV",
    "vegas": "Vegas", "vegas_modified": "modified Vegas",
    "vegas_skew_tolerant": "skew-tolerant Vegas", "fast": "FAST", "ledbat": "LEDBAT", "ledbat_plus_plus": "LEDBAT++",
    "copa": "Copa", "abc": "ABC", "c2tcp": "C2TCP", "nimbus": "Nimbus", "verus": "Verus", "sprout": "Sprout",
    "swift": "Swift", "timely": "TIMELY", "hpcc": "HPCC", "powertcp": "PowerTCP", "powertcp_theta": "θ-PowerTCP",
    "fixed": "fixed window", "bbr": "BBRv1", "bbr3": "BBRv3", "dctcp": "DCTCP", "prague": "Prague",
    "pcc_allegro": "PCC Allegro", "pcc_vivace": "PCC Vivace", "siad": "SIAD", "dqn_newreno": "DQN-NewReno",
    "dqn_cubic": "DQN-CUBIC", "policy": "policy", "python": "Python", "external": "external",
    "drop_tail": "DropTail", "sgpq": "SGPQ", "threshold": "threshold", "red": "RED", "tbf": "TBF",
    "priority": "priority", "drr": "DRR", "sfq": "SFQ", "fq": "FQ", "shared_buffer": "shared buffer",
    "codel": "CoDel", "fq_codel": "FQ-CoDel", "pie": "PIE", "fq_pie": "FQ-PIE", "cake": "CAKE", "dualpi2": "DualPI2",
}  # fmt: skip


def displayed(text: str, names: Mapping[str, str] = DISPLAY_NAMES) -> str:
    """Return the display name of a part, which may be followed by its parameters; other texts stay.

    Args:
        text: A text of a value, such as `value_text` returns.
        names: Display names by name.

    Examples:
        >>> displayed("fq_codel"), displayed("red (limit 2 bdp)"), displayed("20 ms")
        ('FQ-CoDel', 'RED (limit 2 bdp)', '20 ms')
    """
    if text in names:
        return names[text]
    kind, bracket, rest = text.partition(" (")
    return names.get(kind, kind) + bracket + rest if bracket else text
