"""Guesses what somebody meant by a value in another program's format: each function returns the same value in the
format of tsaudit.yaml, or an empty text if that is not clear.
"""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_UNITS: Final = {
    **dict.fromkeys(("s", "sec", "second"), (1, "s")),
    **dict.fromkeys(("m", "min", "minute"), (1, "m")),
    **dict.fromkeys(("h", "hr", "hour"), (1, "h")),
    **dict.fromkeys(("d", "day"), (1, "d")),
    **dict.fromkeys(("w", "week"), (1, "w")),
    **dict.fromkeys(("mo", "month"), (30, "d")),
    **dict.fromkeys(("y", "yr", "year"), (365, "d")),
}
_NAMED_UNITS: Final = {"_s": "s", "_days": "d"}
"""End of a key to the unit of its number."""
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_NICKNAMES: Final = ("hourly", "daily", "weekly", "monthly")
_NEVER: Final = ("off", "no", "none", "false", "manual", "disabled")
_TIME: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::00)?\s*([ap]\.?m\.?)?", re.IGNORECASE)


def duration(text: str) -> str:
    """The duration that the text means: `7d`, `30d`, `12h`, `12h` for `7 days`, `1 month`, `12 Hours`, `PT12H`."""
    if iso := re.fullmatch(r"P(?:([0-9]{1,6}[DW])|T([0-9]{1,6}[HMS]))", text.strip()):
        return (iso[1] or iso[2]).lower()
    match = re.fullmatch(r"([0-9]{1,6})\s*([A-Za-z]+)", text.strip())
    # In other programs, a capital M is a month.
    if match is None or match[2] == "M":
        return ""
    word = match[2].lower()
    factor, unit = _UNITS.get(word) or _UNITS.get(word.removesuffix("s")) or (0, "")
    return f"{int(match[1]) * factor}{unit}" if unit else ""


def size(text: str) -> str:
    """The size that the text means: `16GB`, `1500MB`, `2147MB` for `16gb`, `1.5 G`, `2 GiB`."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([kmgt]?)(i?)b?(?:ytes)?", text.strip().lower())
    if match is None:
        return ""
    power = _POWERS[match[2]]
    exact = float(match[1]) * (1024 if match[3] else 1000) ** power
    unit = power if exact % 1000**power == 0 else max(power - 1, 0)
    return f"{round(exact / 1000**unit)}{('B', 'kB', 'MB', 'GB', 'TB')[unit]}"


def number(text: str, key: str, *, share: bool, whole: bool) -> str:
    """The number that the text means: 100000, 500000, and 0.8 for `100,000`, `500k`, and `80 %`, and 1800 for `30m` if
    the key ends with `_s`.
    """
    found = _number(text.strip(), key, share)
    if found is None or (whole and found != int(found)):
        return ""
    return str(int(found)) if found == int(found) else f"{found:.6g}"


def _number(text: str, key: str, share: bool) -> float | None:
    unit = next((unit for end, unit in _NAMED_UNITS.items() if key.endswith(end)), "")
    if unit and (length := duration(text)):
        return int(length[:-1]) * _SECONDS[length[-1]] / _SECONDS[unit]
    if match := re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*%", text):
        return float(match[1]) / 100 if share else float(match[1])
    if match := re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([kmgt])b?", text.lower()):
        power: int = _POWERS[match[2]]
        return float(match[1]) * float(1000**power)
    if re.fullmatch(r"[0-9]{1,3}(?:[,' _][0-9]{3}){1,5}", text):
        return float(re.sub(r"[^0-9]", "", text))
    if re.fullmatch(r"[0-9]{1,9},[0-9]{1,6}", text):
        return float(text.replace(",", "."))
    return None


def schedule(text: str) -> str:
    """The five-field cron expression or nickname for `06:30`, `6 am`, `daily`, or an expression with seconds."""
    word, fields = text.strip().lower(), text.split()
    if word in _NICKNAMES:
        return f'"@{word}"'
    if word in _NEVER:
        return "never"
    if len(fields) == 6 and fields[0] in ("0", "00"):
        return " ".join(fields[1:]).replace("?", "*")
    match = _TIME.fullmatch(word)
    if match is None or not (match[2] or match[3]):
        return ""
    hour = int(match[1]) % 12 + 12 * match[3].startswith("p") if match[3] else int(match[1])
    minute = int(match[2] or 0)
    return f"{minute} {hour} * * *" if hour < 24 and minute < 60 else ""


def name(text: str) -> str:
    """The text as a target name: characters that a name cannot contain become `-`. Empty if no character is valid."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:100]


def web_address(text: str) -> str:
    """The web address with its scheme, for a text such as `reports.example.com`."""
    return f"https://{text}" if re.fullmatch(r"[\w-]+(\.[\w-]+)*(:[0-9]+)?(/\S*)?", text) else ""


def pair(text: str) -> tuple[str, str] | None:
    """The key and the value in `name = plant`, `name:plant`, or `-name: plant`; None for other text."""
    match = re.fullmatch(r"\s*-?\s*([A-Za-z_]\w*)\s*(?:[:=]\s*|\s)(\S.*?)\s*", text)
    return (match[1], match[2]) if match else None
