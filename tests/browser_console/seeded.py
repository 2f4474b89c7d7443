"""Turns for the pages to show: an answered one, a refused one, and hostile ones that point to a canary."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
from model_replies import REFUND_CLAIM, answering, opens
from people import ask, identity
from refdesk_server import PATIENCE, RefdeskServer

from scripted_api import ScriptedModel


def hostile(canary: str) -> str:
    return (
        f'When are refunds issued? <img src="{canary}/a"><script src="{canary}/b"></script>'
        f'<link rel=stylesheet href="{canary}/c"> ![x]({canary}/d) [y](javascript:alert(1)) "onfocus=alert(1) '
        f"autofocus \u202e{{{{7*7}}}}"
    )


def hostile_article(canary: str) -> str:
    texts = hostile(canary)
    title = json.dumps(f"Hostile {texts}"[:110])
    return f"---\ntitle: {title}\n---\n\n# {texts}\n\n{texts}\n\n<iframe src='{canary}/e'></iframe>\n"


def seed(server: RefdeskServer, model: ScriptedModel, canary: str) -> list[dict[str, Any]]:
    """One conversation of three turns."""
    texts = hostile(canary)
    invented = {**REFUND_CLAIM, "text": f"Invented {texts}", "quote": f"Refunds never come {texts}"}
    answer = f"Refunds are issued within 14 days ([Refunds](doc:refunds)). {texts}"
    model.script(opens("refunds"), answering(answer, REFUND_CLAIM, invented))
    with server.client() as client:
        token = client.post("/v1/session", json={"identity": identity(texts[:200])}).json()["token"]
    said = {"user-agent": texts.partition("\u202e")[0].strip(), "referer": f"{server.url}/{canary}"}
    with server.client(token, **said) as visitor:
        first = ask(visitor, "When are refunds issued?", page={"url": f"{canary}/page", "title": texts})
        talk = first["conversation_id"]
        model.script(opens("refunds"), answering(answer, REFUND_CLAIM))
        second = ask(visitor, texts, conversation_id=talk)
        third = ask(visitor, "Zyx wvut srqpo jklm?", conversation_id=talk)
        feedback = {"rating": "down", "comment": texts}
        visitor.put(f"/v1/turns/{third['id']}/feedback", json=feedback)
    return [first, second, third]


def annotate(admin: httpx2.Client, turns: list[dict[str, Any]], texts: str) -> None:
    place = f"/v1/console/conversations/{turns[0]['conversation_id']}"
    assert admin.post(f"{place}/notes", json={"text": texts}).status_code == 201
    assert admin.patch(f"{place}/tags", json={"add": [texts[-40:]]}).status_code == 200


def first_gap(admin: httpx2.Client) -> dict[str, Any]:
    """A gap of the queue, once turns were looked at."""
    for _ in range(int(PATIENCE / 0.1)):
        for view in ({}, {"cause": "out_of_scope"}):
            if listed := admin.get("/v1/console/gaps", params=view).json()["gaps"]:
                return dict(listed[0])
        time.sleep(0.1)
    raise AssertionError("the queue stays empty")
