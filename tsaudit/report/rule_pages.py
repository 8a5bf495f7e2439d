"""A page for each rule beside the reports, with the texts that `tsaudit explain` prints; written once per version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from tsaudit.model.finding import RULELESS_CODES
from tsaudit.model.version import VERSION
from tsaudit.report import templates
from tsaudit.report.storage import Folder
from tsaudit.report.templates import RULES
from tsaudit.rules.rule_texts import RuleText, rule_texts


def write(folder: Folder) -> None:
    """Write all rule pages and their list, unless a run of this version with the same rules has already done so. Raises
    ReportError.

    Every run of a version writes the same bytes, so concurrent runs do no harm. The marker is written last, so the next
    run makes up for one that was interrupted.
    """
    pages = [*rule_texts(), *_without_rule()]
    made = repr((VERSION, templates.sources(), [page.as_dict() for page in pages]))
    marker = f"{RULES}/_{hashlib.sha256(made.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"
    if folder.read(marker) is not None:
        return
    for page in pages:
        text = templates.render("rule.html.j2", {"version": VERSION, "page": page})
        folder.write(f"{RULES}/{page.code}.html", text.encode(errors="replace"))
    text = templates.render("rules.html.j2", {"version": VERSION, "pages": pages})
    folder.write(f"{RULES}/index.html", text.encode(errors="replace"))
    folder.write(marker, b"{}")


def _without_rule() -> Iterator[RuleText]:
    from tsaudit.not_audited import TEXTS

    for code, name in RULELESS_CODES.items():
        about = TEXTS[code]
        text = f"## Why it matters\n\n{about.why}\n\n## Fix\n\n{about.fix}"
        yield RuleText(code, name, about.title, summary=about.why, doc=text)
