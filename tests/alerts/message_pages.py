"""Pages that show each kind of message as Slack's clients do: `python -m tests.alerts.message_pages FOLDER`.

With Chromium, also pictures on a desktop and on a phone, light and dark.
"""

from __future__ import annotations

import html
import shutil
import sys
from pathlib import Path
from typing import Final

from tests.alerts import block_kit
from tests.alerts.kinds import KINDS

WIDTHS: Final = {"desktop": 1200, "phone": 390}
_PART: Final = 1_500
"""Height of a picture."""
_REPLIES: Final = ("reply_", "confirmed_", "taken_", "changed_")
_STYLE: Final = """
:root { color-scheme: light dark; --page: #fff; --text: #1d1c1d; --quiet: #616061; --line: #dddddd; --link: #1264a3;
  --code: #c01343; --ground: #1d1c1d0a; --mention: #f2c74466; }
@media (prefers-color-scheme: dark) { :root { --page: #1a1d21; --text: #d1d2d3; --quiet: #ababad; --line: #3a3d42;
  --link: #1d9bd1; --code: #e8912d; --ground: #e8e8e80d; --mention: #f2c7442e; } }
body { margin: 0; padding: 12px 20px; background: var(--page); color: var(--text);
  font: 15px/1.46668 Lato, "Noto Sans", "DejaVu Sans", sans-serif; }
.name { color: var(--quiet); font-size: 12px; border-top: 1px solid var(--line); margin: 18px 0 0; padding-top: 4px; }
.message { display: grid; grid-template-columns: 36px minmax(0, 1fr); gap: 0 8px; padding: 8px 0; }
.reply { margin-left: 44px; }
.face { width: 36px; height: 36px; border-radius: 4px; background: #4a154b; color: #fff; font: 700 18px/36px sans-serif;
  text-align: center; }
.who { font-weight: 900; } .who small { color: var(--quiet); font-weight: 400; font-size: 12px; margin-left: 6px; }
.app { background: var(--ground); border-radius: 2px; padding: 1px 3px; font-size: 10px; margin-left: 4px; }
.block { max-width: 600px; margin: 4px 0 8px; overflow-wrap: anywhere; }
.rich_text { max-width: none; }
h3 { font-size: 18px; line-height: 1.33; font-weight: 900; margin: 8px 0 4px; }
p { margin: 0; } .fields { display: grid; grid-template-columns: 1fr 1fr; gap: 8px; }
.context { display: flex; flex-wrap: wrap; gap: 4px 8px; font-size: 13px; color: var(--quiet); }
a { color: var(--link); text-decoration: none; }
.mention { background: var(--mention); color: var(--link); border-radius: 3px; padding: 0 2px; }
code { font: 12px/1.5 Monaco, Menlo, Consolas, "DejaVu Sans Mono", monospace; color: var(--code);
  background: var(--ground); border: 1px solid var(--line); border-radius: 3px; padding: 2px 3px 1px; }
pre { font: 12px/1.50001 Monaco, Menlo, Consolas, "DejaVu Sans Mono", monospace; background: var(--ground);
  border: 1px solid var(--line); border-radius: 4px; padding: 8px; margin: 4px 0; white-space: pre-wrap; }
blockquote { border-left: 4px solid var(--line); margin: 0; padding-left: 12px; }
hr { border: 0; border-top: 1px solid var(--line); }
@media (max-width: 500px) { body { padding: 8px 12px; font-size: 16px; } .reply { margin-left: 0; } }
"""


def page() -> str:
    """All kinds of messages, one after the other."""
    shown = []
    for kind, make in KINDS.items():
        made = make()
        notice = made.text.split("\n", 1)[0]
        reply = " reply" if kind.startswith(_REPLIES) else ""
        shown.append(
            f'<p class="name">{kind}. Notification: {html.escape(html.unescape(notice))}</p>'
            f'<div class="message{reply}"><div class="face">t</div><div><div class="who">tsaudit'
            f'<span class="app">APP</span><small>9:41 AM</small></div>{block_kit.to_html(made.blocks)}</div></div>'
        )
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
    return (
        f"<!doctype html><html lang=en><head><title>Messages</title>{head}</head><body>{''.join(shown)}</body></html>"
    )


def main(folder: Path) -> None:
    """Write the page, and the pictures if there is a browser."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "slack.html"
    path.write_text(page(), encoding="utf-8")
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    from playwright.sync_api import FloatRect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            for name, width in WIDTHS.items():
                context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                shown = context.new_page()
                shown.goto(path.resolve().as_uri())
                height = shown.evaluate("document.documentElement.scrollHeight")
                for part, top in enumerate(range(0, height, _PART), 1):
                    clip = {"x": 0, "y": top, "width": width, "height": min(_PART, height - top)}
                    where = folder / f"slack-{scheme}-{name}-{part}.png"
                    shown.screenshot(path=where, full_page=True, clip=FloatRect(**clip))
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
