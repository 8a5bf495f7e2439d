"""The pages of the reports in Airflow's API server, for users who are logged in."""

import mimetypes
import re
from html import escape
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import quote, urlsplit

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import requires_access_view
from airflow.configuration import conf
from fastapi import Depends, FastAPI, HTTPException, Path, Request, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import HTMLResponse, RedirectResponse

if TYPE_CHECKING:
    from tsaudit.report.storage import Folder

_HEADERS: Final = {
    # A report contains names from the audited database. Whatever they contain, a page cannot act as the user of
    # Airflow.
    "Content-Security-Policy": "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}
_NAME: Final = re.compile(r"(?:\w[\w.-]{0,120}/){0,2}\w[\w.-]{0,120}\.(?:html|json)", re.ASCII)
"""Valid paths of files in a report folder. No other path is looked up: no `..`, no hidden file."""

# Airflow mounts the pages of a plugin without requiring a login.
reports = FastAPI(title="tsaudit", openapi_url=None, dependencies=[Depends(requires_access_view(AccessView.WEBSITE))])


@reports.exception_handler(HTTPException)
async def refused(request: Request, error: HTTPException) -> Response:
    """Send a browser without a login to the login page, which then returns to the report: the address may come from a
    message. Other errors are a page, too, with a link to all reports.
    """
    if "text/html" not in request.headers.get("accept", ""):
        return await http_exception_handler(request, error)
    if error.status_code == 401 or error.detail == "Invalid JWT token":
        airflow = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
        return RedirectResponse(f"{airflow}/api/v2/auth/login?next={quote(request.url.path, safe='')}", 303)
    index = escape(request.url_for("report", path="index.html").path)
    page = f'<!doctype html><title>tsaudit</title><p>{escape(error.detail)}</p><p><a href="{index}">All reports</a></p>'
    return HTMLResponse(page, error.status_code, headers=_HEADERS)


@reports.get("/reports/{path:path}")
def report(path: Annotated[str, Path()]) -> Response:
    """A file in the folder `[tsaudit] report_folder`: a report, a page about a rule, or the index."""
    from tsaudit.report.storage import Folder, ReportError

    address = conf.get("tsaudit", "report_folder", fallback="")
    if not address:
        raise HTTPException(404, "set report_folder in the section [tsaudit] of airflow.cfg to show reports here")
    name = path or "index.html"
    if not _NAME.fullmatch(name):
        raise HTTPException(404, "there is no such report")
    try:
        folder = Folder(address)
        data = None if _leads_out(folder, name) else folder.read(name)
    except ReportError as error:
        raise HTTPException(503, str(error)) from None
    if data is None:
        raise HTTPException(404, "there is no such report")
    return Response(data, media_type=mimetypes.guess_type(name)[0], headers=_HEADERS)


def _leads_out(folder: "Folder", name: str) -> bool:
    """Whether a link leads out of a folder on this machine. Users who may write there need not be allowed to read
    everything that this server can read.
    """
    root, file = (folder.location(path, None).path for path in ("", name))
    return "://" not in file and not FilePath(file).resolve().is_relative_to(FilePath(root).resolve())
