"""Why a text is not YAML, in plain words: the line to change, and how.

The parser's error describes the parser's state. What the person did wrong shows in the text around that place.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml

from tsaudit.config import keys, meant

LINE_END: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""Line ends, as YAML counts lines."""
_MERGE: Final = re.compile(r"(<{7}|>{7}|\|{7}|={7})( .*)?")
_STARTS: Final = "@`%&*!|>?"
"""Characters that have a special meaning where text begins."""
NO_SPACES: Final = "is indented with a tab, or a blank that is no space; indent with spaces"
_WORD: Final = r"[A-Za-z_]\w*"


def explained(text: str, error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """The line, counted from 1, and what is wrong there."""
    lines = LINE_END.split(text)
    at = error.problem_mark or error.context_mark
    opened = error.context_mark or at
    if at is None or opened is None:
        return 1, "cannot be read as YAML"
    row, what = _cause(lines, at, opened, f"{error.problem} {error.context}", text)
    return row + 1, what


def _cause(lines: Sequence[str], at: Any, opened: Any, said: str, text: str) -> tuple[int, str]:
    merge = next((row for row, line in enumerate(lines) if _MERGE.fullmatch(line)), None)
    if merge is not None:
        return merge, f"`{lines[merge][:7]}` is left from a merge; keep one of the two sides, and remove such lines"
    line = line_at(lines, at.line)
    if re.match(r" *[^\S ]", line):
        return at.line, NO_SPACES
    if "escape" in said:
        return at.line, "in double quotes, a backslash has a special meaning; use single quotes around text with one"
    if "quoted" in said:
        return _open_quote(lines, opened.line, opened.column)
    for row, column in ((at.line, at.column), (opened.line, opened.column)):
        if (start := line_at(lines, row)[column : column + 1]) and start in _STARTS:
            return row, needs_quotes(line_at(lines, row), column)
    start, lacks_colon = line_at(lines, opened.line)[opened.column : opened.column + 1], "expected ':'" in said
    if "flow" in said or (lacks_colon and start in ("[", "{")):
        # In a file that ends early, the parser does not report what is still open.
        row, start = (opened.line, start) if start else _open_bracket(text)
        end = "]" if start == "[" else "}"
        return row, f"`{start}` is not closed: add `{end}` or a missing `,`; text with brackets needs quotes"
    for row in (at.line, _above(lines, at.line)):
        if better := _as_pair(line_at(lines, row)):
            blank = f", with a blank after the `{better[0] if better[0] == '-' else ':'}`" if " " in better else ""
            return row, f"write `{better}`{blank}"
    if (long := _last_quote(text)) is not None and long[2] in (at.line, at.line - 1):
        return _open_quote(lines, long[0], long[1])
    before = line[: at.column]
    if (quote := before.rstrip()[-1:]) in ("'", '"'):
        return at.line, f"text goes on after its closing `{quote}`; use the other quotes around text with a `{quote}`"
    if lacks_colon:
        return opened.line, "has no `: `; write `key: value`, or indent it if it belongs to the text above"
    if "not allowed" in said and ": " in before:
        return at.line, f"text that contains `: ` needs quotes{_in_quotes(line, before.index(': ') + 2)}"
    if (end := line[at.column : at.column + 1]) and end in "]}":
        return at.line, f"`{end}` closes nothing; remove it, or put text with brackets in quotes"
    return (
        at.line,
        "wrong indentation: keys that belong together begin in the same column, below the key they belong to",
    )


def needs_quotes(line: str, column: int) -> str:
    """What to do about text that begins with a character that has a special meaning."""
    return f"text that begins with `{line[column : column + 1]}` needs quotes{_in_quotes(line, column)}"


def line_at(lines: Sequence[str], row: int) -> str:
    """The line; empty beyond the end of the file, where the parser may be."""
    return lines[row] if 0 <= row < len(lines) else ""


def _above(lines: Sequence[str], row: int) -> int:
    """The row of the nearest line above that has more than a comment."""
    return next((n for n in range(row - 1, -1, -1) if line_at(lines, n).split("#")[0].strip()), 0)


def _open_quote(lines: Sequence[str], row: int, column: int) -> tuple[int, str]:
    quote = line_at(lines, row)[column : column + 1]
    inside = "; write a `'` inside of the text twice" if quote == "'" else ""
    return row, f"the quote is not closed; add the closing `{quote}`{inside}"


def _last_quote(text: str) -> tuple[int, int, int] | None:
    """Row and column at which the last quoted text begins, and the row where it ends; None unless it spans several
    lines.
    """
    quoted = [t for t in _tokens(text) if isinstance(t, yaml.ScalarToken) and t.style in ("'", '"')]
    if not quoted or quoted[-1].start_mark.line == quoted[-1].end_mark.line:
        return None
    return quoted[-1].start_mark.line, quoted[-1].start_mark.column, quoted[-1].end_mark.line


def _open_bracket(text: str) -> tuple[int, str]:
    """The row and the character of the last bracket that is still open at the end of the text."""
    found: list[tuple[int, str]] = []
    for token in _tokens(text):
        if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
            found.append((token.start_mark.line, "[" if isinstance(token, yaml.FlowSequenceStartToken) else "{"))
        elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken):
            found.pop()
    # The parser takes a tab after a bracket for a blank, the scanner gives up at it, before it returns the bracket.
    return found[-1] if found else _last_bracket(LINE_END.split(text))


def _last_bracket(lines: Sequence[str]) -> tuple[int, str]:
    row = max(n for n, line in enumerate(lines) if "[" in line or "{" in line)
    return row, re.findall(r"[\[{]", lines[row])[-1]


def _tokens(text: str) -> Iterator[Any]:
    """The tokens before the place where the parser gives up."""
    with contextlib.suppress(yaml.YAMLError):
        yield from yaml.scan(text, yaml.SafeLoader)


def _as_pair(line: str) -> str:
    """How to write the line if a colon or spaces are missing in it, such as `engine: duckdb` or `- name: plant`; empty
    if none are missing.
    """
    code = line.strip()
    if keys.places(code):
        return f"{code}:"
    dash = "- " if code.startswith("-") else ""
    if re.match(rf"(- +)?{_WORD}:( |$)", code) or (found := meant.pair(code)) is None or not keys.places(found[0]):
        return ""
    return f"{dash}{keys.as_line(*found)}"


def _in_quotes(line: str, column: int) -> str:
    """What to write instead: the text of the line from the column on, in the quotes that it needs, as in `: "@daily"`.
    Empty if the text may be secret.
    """
    key = re.findall(rf"(<<|{_WORD})[\"']?\s*:\s", line[:column])
    # The key of a text without one on its line may be on another line, unless the text is in a list.
    if not (key[-1] == "<<" or keys.is_shown(key[-1])) if key else not line.lstrip().startswith("- "):
        return ""
    rest = re.split(r"\s#", line[column:])[0].strip()
    if re.search(r"[\[{]", line[:column]):
        rest = re.split(r"[,\]}]", rest)[0].strip()
    quote = "'" if '"' in rest or "\\" in rest else '"'
    return f": {quote}{rest}{quote}" if rest and quote not in rest else ""
