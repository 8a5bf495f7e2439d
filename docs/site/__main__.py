"""The documentation as a site: the files in `docs/`, and a page for each rule, guideline, and engine.

`make docs` builds it in `build/site`; an argument is another folder than `build`. It needs no network, neither to be
built nor to be read, and its search works from a folder, too. A link to a page or heading that does not exist fails the
build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from docs.site.guideline_pages import CHAPTERS, CheckState, states
from docs.site.rule_pages import page
from tsaudit.engines.engine import Engine
from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import GUIDELINES, Guideline, rules_of
from tsaudit.rule import Rule
from tsaudit.rules import all_rules

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
BUILD: Final = ROOT / "build"

GENERATED: Final = ("rules.md", "guidelines.md")
"""Documents in `docs/` that contain all pages in one; the site has a page for each instead."""
_SHIM: Final = re.compile(r"https://unpkg\.com/iframe-worker/shim[^\"]*")
_ELSEWHERE: Final = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="https?://[^"]*"')


def main(build: Path = BUILD) -> None:
    """Build the site in `build/site`; exits with 1 and the reason if it cannot be built, or would load anything from
    elsewhere.
    """
    sources, site = build / "docs", build / "site"
    shutil.rmtree(sources, ignore_errors=True)
    for name, text in documents().items():
        path = sources / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(DOCS / "images", sources / "images")
    shutil.copy(Path(__file__).with_name("worker.js"), sources)
    shutil.copy(Path(__file__).with_name("zensical.toml"), build)
    program = Path(sys.executable).with_name("zensical")
    # Its cache keeps pages that no longer exist.
    if subprocess.run([program, "build", "--clean", "--strict"], cwd=build, check=False).returncode:
        sys.exit("the site was not built: see above")
    problems = [problem for page in sorted(site.rglob("*.html")) for problem in _completed(page, site)]
    if problems:
        sys.exit("\n".join(["the site would load from elsewhere:", *problems]))
    sys.stdout.write(f"{site}/index.html\n")


def documents() -> dict[str, str]:
    """All pages in Markdown, by their path."""
    rules = all_rules()
    found = {"index.md": _linked((ROOT / "README.md").read_text(encoding="utf-8"))}
    for path in sorted(DOCS.glob("*.md")):
        if path.name not in GENERATED:
            found[path.name] = _linked(path.read_text(encoding="utf-8"))
    found["changelog.md"] = _linked((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    found["rules/index.md"] = "\n".join(_rules(rules))
    found |= {f"rules/{rule.code}.md": "\n".join(_rule(rule)) for rule in rules}
    found["guidelines/index.md"] = "\n".join(_guidelines(rules))
    found |= {f"guidelines/{one.id}.md": "\n".join(_guideline(one, rules)) for one in GUIDELINES}
    found |= {f"engines/{engine.name}.md": "\n".join(_engine(engine, rules)) for engine in ENGINES.values()}
    return found


# --- Pages ------------------------------------------------------------------------------------------------------------


def _rules(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "What each rule finds; its page says why it matters, how to fix it, and which limits it has."
    yield ""
    yield "| code | rule | finds | engines |"
    yield "|---|---|---|---|"
    for rule in rules:
        yield f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.title} | {_engine_links(rule.engines)} |"


def _rule(rule: Rule) -> Iterator[str]:
    titles = {one.id: one.title for one in GUIDELINES}
    for line in page(rule):
        yield _linked(line, "../")
    if rule.guidelines:
        yield ""
        yield "## Guidelines"
        yield ""
        for name in rule.guidelines:
            yield f"- [{name}](../guidelines/{name}.md): {titles[name]}"
    yield ""
    yield "## Engines"
    yield ""
    yield _engine_links(rule.engines)


def _guidelines(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield "# Guidelines"
    yield ""
    yield "What makes a good schema, and the rules that check it."
    for letter, chapter in CHAPTERS.items():
        yield ""
        yield f"## {letter}. {chapter}"
        yield ""
        yield "| guideline | rules |"
        yield "|---|---|"
        for one in GUIDELINES:
            if one.id.startswith(letter):
                links = " ".join(f"[{rule.code}](../rules/{rule.code}.md)" for rule in rules_of(one, rules))
                yield f"| [{one.id}]({one.id}.md) {one.title} | {links} |"


def _guideline(one: Guideline, rules: tuple[Rule, ...]) -> Iterator[str]:
    yield f"# {one.id} {one.title}"
    yield ""
    yield f"A guideline about [{CHAPTERS[one.id[0]].lower()}](index.md)."
    yield ""
    yield "## Rules that check it"
    yield ""
    for rule in rules:
        if one.id in rule.guidelines:
            yield f"- [{rule.code} {rule.name}](../rules/{rule.code}.md): {rule.title}"
    yield ""
    yield "## On which engines"
    yield ""
    yield "| engine | |"
    yield "|---|---|"
    for engine, state in states(one, rules).items():
        said = {CheckState.CHECKED: "checked", CheckState.OPEN: "matters, and no rule checks it yet"}
        yield f"| {_engine_links([engine])} | {said.get(state, f'does not matter: {one.why_not_on(engine)}')} |"


def _engine(engine: Engine, rules: tuple[Rule, ...]) -> Iterator[str]:
    words = engine.words
    yield f"# {engine.name}"
    yield ""
    yield f"An address looks like `{engine.example_url}`."
    yield f"Install it with `pip install 'tsaudit[{engine.extra}]'`." if engine.extra else "It needs no extra."
    yield f"What it measures, and how, is in [Engines](../engines.md). Here, a measurement is a {words.measurement},"
    yield f"and a tag is a {words.tag}."
    yield ""
    yield "## Rules"
    yield ""
    yield "| code | rule | finds |"
    yield "|---|---|---|"
    for rule in rules:
        if engine.name in rule.engines:
            yield f"| [{rule.code}](../rules/{rule.code}.md) | {rule.name} | {rule.title} |"
    yield ""
    yield "## Guidelines that do not matter here"
    yield ""
    for one in GUIDELINES:
        if reason := one.why_not_on(engine.name):
            yield f"- [{one.id}](../guidelines/{one.id}.md) {one.title}: {reason}"


def _engine_links(engines: Iterable[str]) -> str:
    return ", ".join(f"[{name}](../engines/{name}.md)" for name in sorted(engines))


# --- Links ------------------------------------------------------------------------------------------------------------


def _linked(text: str, up: str = "") -> str:
    """The text with links that fit the site: to a rule's page, and none to files that only the repository has.

    `up`: from the page to the first folder.
    """
    text = re.sub(r"\]\((?:\.\./)?CHANGELOG\.md\)", "](changelog.md)", text.replace("](docs/", "]("))
    text = re.sub(r"\]\(rules\.md#([a-z]+\d+)-[^)]*\)", lambda m: f"](rules/{m[1].upper()}.md)", text)
    for name in GENERATED:
        text = text.replace(f"]({name})", f"]({name.removesuffix('.md')}/index.md)")
    text = re.sub(r"`docs/([a-z]+)\.md`", lambda m: f"[{m[1]}]({up}{_page_of(m[1])})", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#|images/|[a-z_./]*(?:[A-Z]+\d+)?\.md)[^)]*\)", r"\1", text)


def _page_of(document: str) -> str:
    return f"{document}/index.md" if f"{document}.md" in GENERATED else f"{document}.md"


def _completed(page: Path, site: Path) -> list[str]:
    """Let search work from a folder without loading anything from elsewhere; returns what still would be loaded."""
    up = "../" * (len(page.relative_to(site).parts) - 1)
    text = _SHIM.sub(f"{up}worker.js", page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")
    return [f"{page.relative_to(site)}: {found}" for found in _ELSEWHERE.findall(text)]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
