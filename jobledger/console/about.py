"""What this is, how it is used, and the language that it speaks."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from jobledger.console.frame import HEADERS, Console, Route, page, url
from jobledger.console.session import Form
from jobledger.console.vocabulary.help import TOPICS
from jobledger.console.words import COOKIE, LANGUAGES, language_of, say
from statemachine.kinds import KNOWN


def routes(console: Console) -> APIRouter:
    """`/about`, `/help` and `/language`."""
    router = APIRouter(route_class=Route)

    @router.get("/about")
    async def about(request: Request) -> Response:
        """The release, and what is served."""
        return page(
            request, "about.html", crumbs=[(say(language_of(request), "about.title"), "")], kinds=KNOWN
        )

    @router.get("/help")
    async def help_(request: Request) -> Response:
        """What there is to do, as questions and answers."""
        crumbs = [(say(language_of(request), "help.title"), "")]
        return page(request, "help.html", crumbs=crumbs, topics=TOPICS)

    @router.post("/language")
    async def language(form: Form) -> Response:
        """The browser keeps the language that was chosen, and stays where it is."""
        wanted, back = form.get("language", [""])[0], form.get("back", ["/"])[0]
        path = back if back.startswith("/") and not back.startswith(("//", "/\\")) else url(console, "/")
        answer = Response(status_code=303, headers={"Location": path, **HEADERS})
        if wanted in LANGUAGES:
            answer.set_cookie(COOKIE, wanted, max_age=365 * 86400, path="/", httponly=True, samesite="strict")
        return answer

    return router
