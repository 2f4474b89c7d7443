"""Who may do what: every route of the OpenAPI document, and what it answers to nobody, a visitor, an agent, an admin.

The ids in the requests name nothing, so who is let in gets a 404 (or a 400 where the body is what counts).
"""

from __future__ import annotations

from typing import Any

ANY = (200, 200, 200, 200)
PUBLIC_404 = (404, 404, 404, 404)
OWNER_404 = (401, 404, 404, 404)
AGENT, AGENT_404 = (401, 401, 200, 200), (401, 401, 404, 404)
ADMIN, ADMIN_404 = (401, 401, 403, 200), (401, 401, 403, 404)

STATUSES: dict[str, tuple[int, int, int, int]] = {
    "GET /health/live": ANY,
    "GET /health/ready": ANY,
    "GET /metrics": AGENT,
    "POST /v1/session": (201, 201, 201, 201),
    "POST /v1/ask": ANY,
    "GET /v1/search": ANY,
    "GET /v1/articles": ANY,
    "GET /v1/articles/{article_id}": PUBLIC_404,
    "GET /v1/widget/settings": ANY,
    "GET /v1/conversations/{conversation_id}": OWNER_404,
    "DELETE /v1/conversations/{conversation_id}": OWNER_404,
    "GET /v1/turns/{turn_id}": OWNER_404,
    "GET /v1/turns/{turn_id}/events": OWNER_404,
    "PUT /v1/turns/{turn_id}/feedback": OWNER_404,
    "POST /v1/turns/{turn_id}/stop": OWNER_404,
    "GET /v1/me/export": (401, 200, 200, 200),
    "DELETE /v1/me": (401, 204, 403, 403),
    "POST /v1/console/login": (401, 401, 401, 401),
    "POST /v1/console/logout": (401, 401, 204, 204),
    "GET /v1/console/me": AGENT,
    "POST /v1/console/password": (401, 401, 401, 401),
    "GET /v1/console/conversations": AGENT,
    "GET /v1/console/conversations/{conversation_id}": AGENT_404,
    "GET /v1/console/turns/{turn_id}": AGENT_404,
    "POST /v1/console/conversations/{conversation_id}/notes": AGENT_404,
    "PATCH /v1/console/conversations/{conversation_id}/tags": AGENT_404,
    "PUT /v1/console/turns/{turn_id}/verdict": AGENT_404,
    "POST /v1/console/turns/{turn_id}/replay": AGENT_404,
    "POST /v1/console/preview": AGENT,
    "GET /v1/console/search": AGENT,
    "GET /v1/console/stats": AGENT,
    "GET /v1/console/gaps": AGENT,
    "GET /v1/console/gaps/{gap_id}": AGENT_404,
    "PATCH /v1/console/gaps/{gap_id}": AGENT_404,
    "POST /v1/console/gaps/merge": AGENT_404,
    "POST /v1/console/gaps/split": AGENT_404,
    "POST /v1/console/gaps/{gap_id}/check": AGENT_404,
    "POST /v1/console/gaps/{gap_id}/draft": AGENT_404,
    "GET /v1/console/articles": AGENT,
    "GET /v1/console/articles/{article_id}/days": AGENT,
    "GET /v1/console/sync": AGENT,
    "POST /v1/console/sync": AGENT,
    "GET /v1/console/keys": AGENT,
    "POST /v1/console/keys": (401, 401, 201, 201),
    "DELETE /v1/console/keys/{kid}": AGENT_404,
    "GET /v1/console/staff": ADMIN,
    "POST /v1/console/staff": (401, 401, 403, 400),
    "PATCH /v1/console/staff/{name}": ADMIN_404,
    "GET /v1/console/audit": ADMIN,
    "GET /v1/console/export.csv": ADMIN,
    "GET /v1/console/export.jsonl": ADMIN,
    "GET /v1/console/verdicts.jsonl": ADMIN,
    "GET /v1/console/visitors": ADMIN,
    "GET /v1/console/visitors/{visitor_id}/export": ADMIN,
    "POST /v1/console/erase": ADMIN_404,
    "POST /v1/console/retention": ADMIN,
}

BODIES: dict[str, dict[str, Any]] = {
    "POST /v1/session": {},
    "POST /v1/ask": {"question": "hello"},
    "PUT /v1/turns/{turn_id}/feedback": {"rating": "up"},
    "POST /v1/console/login": {"name": "nobody", "password": "wrong"},
    "POST /v1/console/password": {"current": "wrong", "new": "wrong"},
    "POST /v1/console/conversations/{conversation_id}/notes": {"text": "x"},
    "PATCH /v1/console/conversations/{conversation_id}/tags": {"add": ["x"]},
    "PUT /v1/console/turns/{turn_id}/verdict": {"verdict": "right"},
    "POST /v1/console/preview": {"question": "hello"},
    "PATCH /v1/console/gaps/{gap_id}": {"status": "in_progress"},
    "POST /v1/console/gaps/merge": {"into": "g_none", "gaps": ["g_none_too"]},
    "POST /v1/console/gaps/split": {"gap": "g_none", "turns": ["t_none"]},
    "POST /v1/console/sync": {"wait": True},
    "POST /v1/console/keys": {"label": "x"},
    "POST /v1/console/staff": {"name": "é"},
    "PATCH /v1/console/staff/{name}": {},
    "POST /v1/console/erase": {"visitor_id": "v_none"},
}

QUERIES = {
    "GET /v1/search": {"q": "refunds"},
    "GET /v1/console/search": {"q": "refunds"},
    "GET /v1/console/visitors": {"subject": "nobody"},
}
