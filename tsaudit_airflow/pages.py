"""The pages of the reports in Airflow's API server, for users who are logged in."""

import mimetypes
from typing import Annotated, Final

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import requires_access_view
from airflow.configuration import conf
from fastapi import Depends, FastAPI, HTTPException, Path, Response

_HEADERS: Final = {
    # A report contains names from the audited database. Whatever they are, a page cannot act as the user of Airflow.
    "Content-Security-Policy": "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}
_ENDINGS: Final = (".html", ".json")

# Airflow mounts a plugin's pages without asking for a login.
reports = FastAPI(title="tsaudit", openapi_url=None, dependencies=[Depends(requires_access_view(AccessView.WEBSITE))])


@reports.get("/reports/{path:path}")
def report(path: Annotated[str, Path()]) -> Response:
    """A file of the folder `[tsaudit] report_folder`: a report, a page about a rule, or the index."""
    from tsaudit.report.publish import Folder, ReportError

    address = conf.get("tsaudit", "report_folder", fallback="")
    if not address:
        raise HTTPException(404, "set report_folder in the section [tsaudit] of airflow.cfg to show reports here")
    name = path or "index.html"
    if not name.endswith(_ENDINGS) or any(part in ("", ".", "..") for part in name.split("/")) or "\\" in name:
        raise HTTPException(404, "there is no such report")
    try:
        data = Folder(address).read(name)
    except ReportError as error:
        raise HTTPException(503, str(error)) from None
    if data is None:
        raise HTTPException(404, "there is no such report")
    return Response(data, media_type=mimetypes.guess_type(name)[0], headers=_HEADERS)
