"""Every kind of message by Slack's own rules, and what clients make of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.alerts import block_kit, mrkdwn
from tests.alerts.kinds import EVIL, KINDS
from tests.alerts.slack_double import problem_of
from tsaudit.alerts.blocks import Message


def sent(made: Message) -> dict[str, Any]:
    """As it goes to Slack."""
    return {"text": made.text, "blocks": list(made.blocks)}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_message_follows_slacks_rules(kind: str) -> None:
    made = sent(KINDS[kind]())
    assert block_kit.problems(made) == []
    assert problem_of(made) is None


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_shown_that_is_neither_ours_nor_plain(kind: str) -> None:
    """Links, mentions, and styles are those that the library makes; names are text, without look-alikes of markup."""
    shown = block_kit.to_html(sent(KINDS[kind]())["blocks"])
    assert set(re.findall(r'href="https://([^/"]+)', shown)) <= {"reports.example", "dagster.example"}
    assert len(re.findall("<a ", shown)) == len(re.findall(r'<a href="https://', shown))
    assert set(re.findall(r'class="mention">([^<]+)', shown)) <= {"@Ann Lee", "@Dana Ba", "@ops"}
    assert set(re.findall(r"<(i|s|blockquote)>", shown)) == set()
    assert "hostile" in kind or kind in ("confirmed_partly", "taken_back") or "&amp;amp;" not in shown


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "hostile" in kind])
def test_a_hostile_name_is_read_as_it_is(kind: str) -> None:
    shown = block_kit.to_html(sent(KINDS[kind]())["blocks"])
    assert "&lt;!channel&gt; @here &lt;http://evil.example|click&gt; *bold*" in shown
    assert ":tada: &amp;amp; " in shown, "as the name has it"
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a *b c* d", "a <b>b c</b> d"),
        ("*a*b 2*3*4 a * b *", "*a*b 2*3*4 a * b *"),
        ("_a_ snake_case_name ~b~", "<i>a</i> snake_case_name <s>b</s>"),
        ("`*a* &lt;b&gt;` *c*", "<code>*a* &lt;b&gt;</code> <b>c</b>"),
        ("```a\n*b*```", "<pre>a\n*b*</pre>"),
        ("<https://x.example/?a=1&amp;b|l &amp; m>", '<a href="https://x.example/?a=1&amp;b">l &amp; m</a>'),
        ("<@U0ANN> <!subteam^S0OPS>", '<span class="mention">@Ann Lee</span> <span class="mention">@ops</span>'),
        (":eyes: :nobody: 12:30:15", '<span class="emoji" title="eyes">👀</span> :nobody: 12:30:15'),
        ("a\n&gt; b\nc", "a<br><blockquote> b</blockquote>c"),
    ],
)
def test_markup_is_read_as_slack_reads_it(text: str, html: str) -> None:
    assert mrkdwn.to_html(text) == html


def a_section(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text} | more}


def rich(*runs: dict[str, Any], kind: str = "rich_text_section") -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": kind, "elements": list(runs)}]}


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ([{"type": "divider"}] * 51, "51 blocks"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "151 characters, 150 allowed"),
        ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "no text object of the kind plain_text"),
        ([a_section("x" * 3_001)], "3001 characters, 3000 allowed"),
        ([a_section("x" * 2_900)] * 5, "14500 characters in all blocks"),
        ([a_section(" ")], "empty text"),
        ([a_section("a < b")], "a bare < or >"),
        ([a_section("a & b")], "a bare &"),
        ([a_section("<evil>")], "unknown token <evil>"),
        ([a_section("see https://x.example")], "https://x.example becomes a link or a mention"),
        ([a_section("ask @here")], "@here becomes a link or a mention"),
        ([a_section("x", emoji=True)], "unknown key emoji"),
        ([{"type": "context", "elements": []}], "0 elements"),
        ([{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}], "11 elements"),
        ([{"type": "divider", "text": "x"}], "has contents"),
        ([{"type": "actions", "elements": [{"type": "button"}] * 26}], "26 elements"),
        ([rich()], "rich_text_section without elements"),
        ([rich({"type": "text", "text": ""})], "text without text"),
        ([rich({"type": "text", "text": "x", "style": {"red": True}})], "unknown style"),
        ([rich({"type": "user", "user_id": "U1"}, kind="rich_text_preformatted")], "user is not allowed here"),
        ([{"type": "table"}], "unknown type"),
    ],
)
def test_what_slack_rejects_is_named(blocks: list[dict[str, Any]], problem: str) -> None:
    assert problem in "\n".join(block_kit.problems({"text": "x", "blocks": blocks}))


def test_the_hostile_text_would_do_harm() -> None:
    """Unescaped, it is everything that the tests above exclude."""
    raw = {"text": EVIL, "blocks": [a_section(EVIL)]}
    assert len(block_kit.problems(raw)) == 4
    assert re.search("<b>bold</b>.*<i>it</i>.*<s>st</s>.*<pre>", block_kit.to_html(raw["blocks"]), re.DOTALL)
