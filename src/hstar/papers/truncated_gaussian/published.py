# ruff: noqa: E501 (a line per row keeps the tables readable)
"""The numbers printed in the truncated-gaussian paper, for setting ours beside them.

Carlos Núñez-Molina, Masataro Asai, Pablo Mesejo, Juan Fernández-Olivares: On Using Admissible
Bounds for Learning Forward Search Heuristics, IJCAI 2024. Tables 1, 2 and 4 to 14; Table 3 lists
generator parameters, and Figure 2 has curves but no numbers.

Each block below is a table: a line per domain, the symbolic baselines first, then per configuration
the three variants N, N+clip, TN, whatever their arrangement in print (there, N+clip is sometimes a
row of its own). "?" marks numbers that the available text of the paper has lost; where another
table prints the same mean, that is given without its deviation, which differs between tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

DOMAINS = ("blocks", "ferry", "gripper", "visitall")
VARIANTS = ("N", "N+clip", "TN")
NAMES = {"ff": "h^FF", "lmcut": "h^LMcut", "hmax": "h^max", "blind": "h^blind", "none": "none"}


@dataclass(frozen=True, slots=True)
class Value:
    """A mean over seeds and its standard deviation, None where only one number is known.

    `text` is how the paper prints it.
    """

    mean: float
    std: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A configuration: how sigma is found, what the model corrects, and the lower bound."""

    sigma: str  # learn, fixed
    base: str  # ff, none, lmcut
    lower: str = "lmcut"  # lmcut, hmax, blind

    def __str__(self) -> str:
        return f"{self.sigma}/{NAMES[self.base]}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: a baseline (`group` None, `variant` its name) or a learned variant."""

    variant: str
    group: Group | None = None


@dataclass(frozen=True)
class PublishedTable:
    """`metrics` are the sections of the table, each one of mse, nll, coverage, evaluations.

    `cells` maps (metric, domain, column) to what is printed, None for an empty cell.
    """

    number: int
    model: str  # nlm, hgn, linear
    caption: str
    metrics: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: dict[tuple[str, str, Column], Value | None]

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(dict.fromkeys(c.group for c in self.columns if c.group is not None))


LEARN_FF = Group("learn", "ff")
LEARN_NONE = Group("learn", "none")
FIXED_FF = Group("fixed", "ff")
FIXED_NONE = Group("fixed", "none")
LEARN_LMCUT = Group("learn", "lmcut")
FOUR = (LEARN_FF, LEARN_NONE, FIXED_FF, FIXED_NONE)
BOUNDS = (LEARN_FF, Group("learn", "ff", "hmax"), Group("learn", "ff", "blind"))
RESIDUALS = (LEARN_FF, LEARN_LMCUT, LEARN_NONE)

_NLM_MSE = """
blocks   22.8 25.06 | .76±.1 .76±.2 .65±.1     | 3.26±.6 2.91±.4 2.71±.4       | .83±.1 .83±.2 .66±.1     | 2.97±.9 2.74±.6 2.44±.3
ferry    9.77 11.10 | 3.73±.7 3.72±.6 3.45±.8  | 141.05±29.4 10.44±28.4 8.63±2.7 | 2.98±1.4 2.98±1.1 3.85±.9 | 118.59±10.4 10.50±9.6 9.58±1.5
gripper  9.93 15.82 | 3.65±.9 3.65±.7 3.70±.9  | 68.12±16.0 13.37±15.2 5.65±1.3 | 3.69±.9 3.69±.8 3.72±.9 | 68.22±16.1 13.38±14.5 11.97±2.2
visitall 13.9 36.4  | 7.67±.4 7.60±.4 5.30±.6  | 25.31±7.9 18.79±7.3 9.70±1.6  | 6.49±.6 6.35±.6 6.62±.9  | 21.71±2.6 16.38±2.3 14.11±1.0
"""

_NLM_PLANNING = """
blocks   .13 | .84±.19 .85±.19 .88±.14 | .79±.29 .50±.35 .55±.33
ferry    .82 | .91±.19 .91±.19 .98±.05 | .01±.01 .57±.10 .58±.13
gripper  .96 | 1 1 1                   | 0 .92±.12 1
visitall .86 | .97±.07 .98±.06 .98±.05 | .82±.33 1 1

blocks   9309 | 2690±2128 2681±2121 2060±1607 | 4118±2663 6268±2675 5903±2685
ferry    5152 | 3216±1964 3117±1967 2477±1093 | 9933±92 6675±582 6475±725
gripper  3918 | 1642±139 1643±141 1637±492    | 10000±0 2941±1513 1709±658
visitall 3321 | 2156±1451 2148±1511 1683±1290 | 3384±3448 591±216 612±363
"""

_NLM_PLANNING_FULL = """
blocks   .13 | .84±.18 .85±.18 .88±.17 | .85±.37 .57±.36 .51±.37 | .90±.13 .89±.13 .87±.12 | .79±.34 .50±.34 .55±.35
ferry    .82 | .91±.00 .91±.01 .98±.00 | .01±.05 .60±.12 .59±.15 | .99±.00 .99±.00 .94±.01 | .01±.06 .57±.16 .58±.08
gripper  .96 | 1 1 1                   | 0 .75±.34 1             | 1 1 1                   | .00±.00 .92±.26 1
visitall .86 | .97±.07 .98±.08 .98±.06 | .79±.16 1 1             | .98±.03 .99±.03 1       | .82±.14 1 1

blocks   9309 | 2690±2111 2681±2115 2060±1823 | 3225±? 5754±2825 6492±2695 | 1791±1678 1809±1674 2171±1489 | 4118±? 6268±2649 5903±2835
ferry    5152 | 3216±532 3117±557 2477±369    | 9952±? 6751±610 6780±952   | 2218±255 2197±255 3471±482    | 9933±? 6675±1019 6475±593
gripper  3918 | 1642±198 1643±210 1637±244    | 10000±? 4313±1685 1480±1484 | 1631±65 1635±60 1301±48      | 10000±? 2941±1360 1709±428
visitall 3321 | 2156±1458 2148±1491 1683±1269 | 3860±? 818±353 385±616     | 1437±1114 1355±1119 1142±929  | 3384±? 591±151 612±160
"""

_HGN_MSE = """
blocks   22.8 25.06 | 2.3±2.6 2.3±2.6 1.5±.4 | 2.3±.8 2.3±.8 3.9±2.4 | 2.6±2.3 2.6±2.3 6.5±10.8 | 5.2±2.6 3.7±1.8 1.8±.6
ferry    9.77 11.10 | (8.9±1.8)e8 (8.9±1.8)e8 (2.3±4.9)e7 | (4.9±7.4)e7 (4.9±7.4)e7 (5.2±9.2)e7 | (3.0±3.8)e5 (2.4±2.8)e5 (1.7±2.1)e7 | (4.2±6.0)e6 (4.2±6.0)e6 (2.7±4.8)e7
gripper  9.93 15.82 | 1.1±.4 1.0±.4 1.5±.6 | 59.2±91.3 58.5±90.4 7.5±12.6 | 3.7±2.5 3.5±2.6 4.4±6.0 | 9.4±12.8 2.5±.8 3.0±2.7
visitall 13.9 36.4  | 4.0±.4 3.8±.4 3.6±.5 | .3±.0 .3±.0 .3±.0 | 4.3±.5 4.0±.5 4.1±.4 | .3±.0 .3±.0 .3±.1
"""

_HGN_PLANNING = """
blocks   .13 | .70±.30 .72±.29 .48±.26 | .39±.22 .42±.25 .57±.35 | .57±.28 .62±.32 .66±.29 | .38±.29 .39±.34 .62±.35
ferry    .82 | .01±.02 .01±.02 .02±.06 | .00±.00 .00±.00 .00±.02 | .02±.04 .06±.12 .02±.04 | .01±.02 .02±.03 .01±.03
gripper  .96 | .36±.14 .37±.15 .39±.13 | .24±.20 .24±.20 .27±.11 | .25±.14 .27±.18 .35±.25 | .19±.06 .38±.28 .63±.40
visitall .86 | .99±.03 .97±.04 .97±.04 | 1 1 1                   | .98±.03 .99±.03 1       | 1 1 1

blocks   9309 | 3984±2675 3906±2649 5844±2088 | 6636±1859 6456±1969 5186±2915 | ? 5007±2439 4335±2548 | 6649±2554 6576±2812 4581±3096
ferry    5152 | 9916±132 9915±134 9834±424    | 10000±0 10000±0 9968±105      | ? 9659±644 9834±258   | 9924±169 9856±250 9941±175
gripper  3918 | 7078±971 7008±1058 6949±1020  | 8050±1490 8048±1492 7952±564  | ? 7917±1138 7271±1852 | 8264±474 7300±1633 4997±3206
visitall 3321 | 1512±1192 1555±1149 1472±1182 | 204±144 155±24 146±12         | ? 1063±858 875±761    | 166±41 152±21 153±15
"""

_LINEAR_METRICS = """
blocks   22.8 25.06 | 6.5±.1 6.5±.1 6.7±.4 | 6.3±.0 6.3±.0 6.8±.4 | 7.0±.1 6.9±.1 7.8±.2 | 6.9±.1 6.8±.1 7.8±.1
ferry    9.77 11.10 | 1.3±.1 1.2±.1 3.1±.6 | 1.1±.3 1.1±.3 3.0±.6 | 1.0±.3 1.0±.3 8.5±.8 | 1.0±.2 1.0±.2 8.5±.6
gripper  9.93 15.82 | .5±.2 .5±.2 .7±.3    | .6±.2 .6±.2 .7±.3    | .5±.2 .5±.2 1.2±.3   | .5±.3 .5±.3 1.1±.4
visitall 13.9 36.4  | 6.6±.1 6.6±.1 5.0±.2 | 2.0±.0 1.9±.0 2.9±.0 | 6.5±.1 6.4±.1 6.4±.1 | 2.0±.0 1.9±.0 2.3±.1

blocks   22.8 25.06 | 2.2±.0 2.2±.0 1.6±.0 | 2.1±.0 2.1±.0 1.6±.0 | 3.0±.0 3.0±.0 2.8±.0 | 3.0±.0 3.0±.0 2.8±.0
ferry    9.77 11.10 | 1.6±.1 1.6±.1 1.4±.1 | 1.5±.1 1.5±.1 1.4±.1 | 1.5±.1 1.5±.1 3.1±.2 | 1.5±.1 1.5±.1 3.1±.2
gripper  9.93 15.82 | 1.0±.1 1.0±.1 .9±.2  | 1.4±.2 1.4±.2 .9±.2  | 1.4±.1 1.4±.1 1.2±.1 | 1.4±.1 1.4±.1 1.1±.1
visitall 13.9 36.4  | 2.1±.0 2.1±.0 1.8±.0 | 1.5±.0 1.5±.0 1.5±.1 | 2.9±.0 2.9±.0 2.7±.0 | 1.8±.0 1.7±.0 1.6±.0
"""

_LINEAR_PLANNING = """
blocks   .13 | .20±.00 .18±.00 .17±.00 | .21±.00 .20±.00 .19±.00 | .20±.00 .19±.00 .19±.00 | .21±.00 .17±.00 .19±.00
ferry    .82 | 1 1 1                   | 1 1 1                   | 1 1 .45±.00             | 1 1 .45±.00
gripper  .96 | 1 1 1                   | 1 1 1                   | 1 1 .76±.00             | 1 1 .70±.00
visitall .86 | .91±.00 .91±.00 .96±.00 | .92±.00 .91±.00 .92±.00 | .91±.00 .91±.00 .91±.00 | .90±.00 .91±.00 .91±.00

blocks   9309 | 8770±0 8920±0 8989±0 | 8658±0 8795±0 8951±0 | 8844±0 8849±0 8984±0 | 8816±0 8992±0 8944±0
ferry    5152 | 1891±0 1886±0 1944±0 | 1894±0 1891±0 2025±0 | 1862±0 1900±0 7652±0 | 1877±0 1860±0 7630±0
gripper  3918 | 964±0 968±0 973±0    | 972±0 970±0 971±0    | 966±0 966±0 4587±0   | 969±0 964±0 4775±0
visitall 3321 | 2829±0 3048±0 2035±0 | 3040±0 2952±0 2783±0 | 3132±0 2772±0 2859±0 | 3079±0 2947±0 2853±0
"""

_RANKING_PLANNING = """
blocks   .13 | .70±.30 .72±.29 .48±.26 | .24
ferry    .82 | .01±.02 .01±.02 .02±.06 | .61
gripper  .96 | .36±.14 .37±.15 .39±.13 | -
visitall .86 | .99±.03 .97±.04 .97±.04 | 0

blocks   9309 | 3984±2675 3906±2649 5844±2088 | 8282.6
ferry    5152 | 9916±132 9915±134 9834±424    | 5103.5
gripper  3918 | 7078±971 7008±1058 6949±1020  | -
visitall 3321 | 1512±1192 1555±1149 1472±1182 | 10000
"""

_BOUNDS_MSE = """
blocks   22.8 25.06 | .76±.1 .76±.2 .65±.1    | .76±.1 .76±.1 .76±.2     | .76±.1 .76±.1 .66±.1
ferry    9.77 11.10 | 3.73±.7 3.72±.6 3.45±.8 | 3.98±.9 3.98±.9 3.13±.9  | 3.73±.8 3.73±.8 3.21±.9
gripper  9.93 15.82 | 3.65±.9 3.65±.7 3.70±.9 | 3.66±.9 3.66±.9 3.75±1.0 | 3.65±.9 3.65±.9 3.69±1.1
visitall 13.9 36.4  | 7.67±.4 7.60±.4 5.30±.6 | 7.58±.5 7.55±.5 7.01±.3  | 7.55±.4 7.55±.4 7.15±.5
"""

_BOUNDS_PLANNING = """
blocks   .13 | .84±.19 .85±.19 .88±.14 | .82±.18 .82±.18 .85±.16 | .83±.17 .83±.17 .89±.13
ferry    .82 | .91±.19 .91±.19 .98±.05 | .97±.06 .97±.06 .98±.05 | .90±.20 .90±.20 .98±.02
gripper  .96 | 1 1 1                   | 1 1 1                   | 1 1 1
visitall .86 | .97±.07 .98±.06 .98±.05 | .98±.05 .99±.03 .98±.04 | .97±.05 .98±.04 .99±.02

blocks   9309 | 2690±2128 2681±2121 2060±1607 | 2871±2235 2863±2227 2480±1783 | 2816±2065 2805±2084 1987±1400
ferry    5152 | 3216±1964 3117±1967 2477±1093 | 2802±1115 2772±1080 2414±1051 | 3277±1989 3291±1998 1907±479
gripper  3918 | 1642±139 1643±141 1637±492    | 1891±553 1890±556 1763±361    | 1889±544 1896±560 1495±69
visitall 3321 | 2156±1451 2148±1511 1683±1290 | 2007±1301 1777±1154 1894±1313 | 1899±1292 1864±1330 1755±1132
"""

_RESIDUALS_MSE = """
blocks   22.8 25.06 | .76±.1 .76±.1 .65±.1     | .72±.1 .72±.1 .66±.1     | 3.26±.6 2.91±.4 2.71±.4
ferry    9.77 11.10 | 3.73±.8 3.72±.8 3.45±.8  | 3.23±1.1 3.23±1.1 3.58±1.3 | 141.05±29.6 10.44±1.8 8.63±2.7
gripper  9.93 15.82 | 3.65±.9 3.65±.9 3.70±1.1 | 3.94±1.0 3.94±1.0 3.88±1.1 | 68.12±15.3 13.37±2.2 5.65±1.1
visitall 13.9 36.4  | 7.67±.4 7.60±.4 5.30±.6  | 4.40±.8 4.40±.8 4.03±.5  | 25.31±7.9 18.79±4.2 9.70±1.6
"""

_RESIDUALS_PLANNING = """
blocks   .13 | .84±.18 .85±.18 .88±.15 | .88±.14 .88±.15 .85±.19 | .85±.22 .57±.36 .51±.37
ferry    .82 | .91±.19 .91±.19 .98±.04 | .64±.11 .66±.15 .68±.12 | .01±.01 .60±.12 .59±.13
gripper  .96 | 1 1 1                   | 1 1 1                   | .00±.00 .75±.42 1
visitall .86 | .97±.06 .98±.05 .98±.04 | 1 1 1                   | .79±.34 1 1

blocks   9309 | 2690±2193 2681±2192 2060±1673 | 2461±1747 2390±1757 2735±2106 | 3225±2446 5754±2723 6492±2693
ferry    5152 | 3216±2033 3117±1991 2477±1209 | 6107±664 6088±739 5944±680    | 9952±70 6751±740 6780±863
gripper  3918 | 1642±212 1643±218 1637±390    | 1392±349 1390±341 1477±482    | 10000±0 4313±3475 1480±378
visitall 3321 | 2156±1431 2148±1550 1683±1245 | 508±205 531±232 483±162       | 3860±3249 818±562 385±112
"""

_VALUE = re.compile(r"(?P<mean>[\d.]+)(?:±(?P<std>[\d.]+))?")
_SCALED = re.compile(r"\((?P<mean>[\d.]+)±(?P<std>[\d.]+)\)e(?P<power>\d)")


def read_value(text: str) -> Value | None:
    """Reads ".88±.14", "1", "(8.9±1.8)e8", "3225±?"; None for "-" and "?". Raises ValueError."""
    if text in ("-", "?"):
        return None
    if text.endswith("±?"):
        return Value(float(text[:-2]), None, text[:-2])
    found = _SCALED.fullmatch(text) or _VALUE.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no number of the paper")
    scale = 10.0 ** int(found.groupdict().get("power") or 0)
    std = found["std"]
    return Value(float(found["mean"]) * scale, float(std) * scale if std else None, text)


def _cells(
    text: str, metrics: tuple[str, ...], columns: tuple[Column, ...]
) -> Iterator[tuple[tuple[str, str, Column], Value | None]]:
    for metric, section in zip(metrics, text.strip().split("\n\n"), strict=True):
        for domain, line in zip(DOMAINS, section.strip().splitlines(), strict=True):
            name, *numbers = line.replace("|", " ").split()
            if name != domain:
                raise ValueError(f"expected the row of {domain}, found {name}")
            for column, number in zip(columns, numbers, strict=True):
                yield (metric, domain, column), read_value(number)


def _table(
    number: int,
    model: str,
    caption: str,
    text: str,
    metrics: tuple[str, ...],
    groups: tuple[Group, ...],
    extra: tuple[Column, ...] = (),
) -> PublishedTable:
    planning = "coverage" in metrics
    baselines = (Column("ff"),) if planning else (Column("ff"), Column("lmcut"))
    learned = tuple(Column(variant, group) for group in groups for variant in VARIANTS)
    columns = baselines + learned + extra
    return PublishedTable(
        number, model, caption, metrics, columns, dict(_cells(text, metrics, columns))
    )


_ACCURACY = ("mse",)
_PLANNING = ("coverage", "evaluations")

TABLES: dict[int, PublishedTable] = {
    table.number: table
    for table in (
        _table(1, "nlm", "Accuracy of NLM on the test states", _NLM_MSE, _ACCURACY, FOUR),
        _table(
            2,
            "nlm",
            "Planning with NLM: proposed and baseline configuration",
            _NLM_PLANNING,
            _PLANNING,
            (LEARN_FF, FIXED_NONE),
        ),
        _table(4, "nlm", "Accuracy of NLM, as Table 1", _NLM_MSE, _ACCURACY, FOUR),
        _table(5, "nlm", "Planning with NLM", _NLM_PLANNING_FULL, _PLANNING, FOUR),
        _table(6, "hgn", "Accuracy of STRIPS-HGN on the test states", _HGN_MSE, _ACCURACY, FOUR),
        _table(7, "hgn", "Planning with STRIPS-HGN", _HGN_PLANNING, _PLANNING, FOUR),
        _table(
            8,
            "linear",
            "Accuracy and likelihood of linear regression on the test states",
            _LINEAR_METRICS,
            ("mse", "nll"),
            FOUR,
        ),
        _table(9, "linear", "Planning with linear regression", _LINEAR_PLANNING, _PLANNING, FOUR),
        _table(
            10,
            "hgn",
            "Planning with STRIPS-HGN: cost-to-go against ranking",
            _RANKING_PLANNING,
            _PLANNING,
            (LEARN_FF,),
            (Column("L-GBFS"),),
        ),
        _table(11, "nlm", "Accuracy of NLM by lower bound", _BOUNDS_MSE, _ACCURACY, BOUNDS),
        _table(12, "nlm", "Planning with NLM by lower bound", _BOUNDS_PLANNING, _PLANNING, BOUNDS),
        _table(13, "nlm", "Accuracy of NLM by residual", _RESIDUALS_MSE, _ACCURACY, RESIDUALS),
        _table(
            14, "nlm", "Planning with NLM by residual", _RESIDUALS_PLANNING, _PLANNING, RESIDUALS
        ),
    )
}
