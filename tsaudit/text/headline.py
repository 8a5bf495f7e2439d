"""The headline of a finding: what is wrong, its cause, and since when, in at most 25 words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tsaudit.model.profile import POLICY_SEPARATOR
from tsaudit.model.subject import Subject
from tsaudit.text.findings import contributor, mentions_onset, names, since

if TYPE_CHECKING:
    from tsaudit.model.finding import Finding

MOST_WORDS: Final = 25
"""Maximum number of words, which people can read at a glance; a name counts as one word."""
MOST_CHARACTERS: Final = 300
"""Maximum number of characters: longer than any 25 words of ours, but names can be longer."""
_FEWEST: Final = 4
"""Minimum number of words of a shortened message."""
_ASIDE: Final = re.compile(r" \([^()]*\)")
_CLAUSE: Final = re.compile(r"[.;:] ")
_COMMA: Final = re.compile(r", ")


def headline(finding: Finding) -> str:
    """`main/http_requests: Series grew from 768 to 36,096 since 2026-11-11, all from new values of request_id`.

    At most `MOST_WORDS` words and `MOST_CHARACTERS` characters, without a period. The place comes first if the text
    does not name it.
    """
    text = (finding.headline or finding.message).strip().rstrip(".")
    place = str(Subject(finding.subject.database, finding.subject.measurement))
    policy = finding.subject.database.partition(POLICY_SEPARATOR)[2]
    named = not finding.subject.measurement or names(text, finding.subject.measurement)
    # Several retention policies may have the same finding.
    named = named and (not finding.subject.measurement or not policy or names(text, policy))
    prefix = "" if named else f"{place}: "
    room = MOST_WORDS - _words(prefix)
    cut = shortened(text, room)
    for more in (_cause(finding, cut), _start(finding, cut)):
        if more and _words(cut) + _words(more) <= room:
            cut += f", {more}"
    return _within(prefix + cut)


def is_shortened(finding: Finding) -> bool:
    """Whether the headline is a shortened version of the finding's message."""
    return not finding.headline and finding.message.strip().rstrip(".") not in headline(finding)


def shortened(text: str, most: int) -> str:
    """The text, or as much of its beginning as makes sense, in at most this many words.

    It ends with a sentence or a clause. If none is short enough, remarks in parentheses are left out, and then the text
    after a comma.
    """
    for brief, ends in ((text, _CLAUSE), (_ASIDE.sub("", text), _CLAUSE), (_ASIDE.sub("", text), _COMMA)):
        if _words(brief) <= most:
            return brief
        starts = [brief[: found.start()] for found in ends.finditer(brief)]
        fitting = [start for start in starts if _FEWEST <= _words(start) <= most and _is_closed(start)]
        if fitting:
            return fitting[-1]
    return " ".join([*text.split()[: most - 1], "\N{HORIZONTAL ELLIPSIS}"])


def _within(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _is_closed(text: str) -> bool:
    return text.count("(") == text.count(")")


def _words(text: str) -> int:
    return len(text.split())


def _cause(finding: Finding, text: str) -> str:
    """The main contributor with its share, unless the text names it."""
    main_contributor = finding.main_contributor
    return (
        "" if not main_contributor or not finding.share or names(text, main_contributor) else contributor(finding, 60)
    )


def _start(finding: Finding, text: str) -> str:
    return "" if mentions_onset(finding, text) else since(finding)
