"""Which page answers what to nobody, to an agent and to an admin. The ids name nothing; the forms are empty."""

from __future__ import annotations

TO_SIGN_IN = 303
SEEN = (TO_SIGN_IN, 200, 200)
ADMIN = (TO_SIGN_IN, 403, 200)
NO_SUCH = (TO_SIGN_IN, 404, 404)

PAGES: dict[str, tuple[int, int, int]] = {
    "GET /console/{rest}": NO_SUCH,
    "GET /console": SEEN,
    "POST /console/sync": (401, 303, 303),
    "GET /console/sync": SEEN,
    "GET /console/sign-in": (200, 303, 303),
    "POST /console/sign-in": (401, 401, 401),
    "POST /console/sign-out": (401, 303, 303),
    "POST /console/language": (303, 303, 303),
    "GET /console/static/{name}": (404, 404, 404),
    "GET /console/conversations": SEEN,
    "GET /console/conversations/news": SEEN,
    "GET /console/conversations/{conversation_id}": NO_SUCH,
    "POST /console/conversations/{conversation_id}/notes": (401, 400, 400),
    "POST /console/conversations/{conversation_id}/tags": (401, 404, 404),
    "POST /console/turns/{turn_id}/verdict": (401, 404, 404),
    "POST /console/turns/{turn_id}/replay": (401, 404, 404),
    "GET /console/account": SEEN,
    "POST /console/account/password": (401, 401, 401),
    "POST /console/account/keys": (401, 400, 400),
    "POST /console/account/keys/{kid}/disable": (401, 404, 404),
    "GET /console/staff": ADMIN,
    "POST /console/staff": (401, 403, 400),
    "POST /console/staff/{name}": (401, 403, 404),
    "GET /console/audit": ADMIN,
    "GET /console/settings": ADMIN,
    "GET /console/privacy": ADMIN,
    "POST /console/privacy/erase": (401, 403, 400),
    "POST /console/privacy/retention": (401, 403, 200),
    "GET /console/articles": SEEN,
    "GET /console/articles/{article_id}": NO_SUCH,
    "GET /console/search": SEEN,
    "GET /console/gaps": SEEN,
    "GET /console/gaps/{gap_id}": NO_SUCH,
    "POST /console/gaps/{gap_id}": (401, 404, 404),
    "POST /console/gaps/{gap_id}/merge": (401, 400, 400),
    "POST /console/gaps/{gap_id}/split": (401, 400, 400),
    "POST /console/gaps/{gap_id}/check": (401, 404, 404),
    "POST /console/gaps/{gap_id}/draft": (401, 404, 404),
    "GET /console/turns/{turn_id}/receipt": NO_SUCH,
    "GET /console/turns/{turn_id}/receipt.json": NO_SUCH,
}
