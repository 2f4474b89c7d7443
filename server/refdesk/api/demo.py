"""Pages that show the widget at work: an invented shop, the same under the strictest policy, and a self-check."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Annotated, Any

from litestar import MediaType, Request, Response, get
from litestar.params import FromPath, QueryParameter

from refdesk.api.services import services_of
from refdesk.errors import RequestError

FILES = {
    "demo.css": "text/css",
    "check-page.js": "text/javascript",
    "strict.js": "text/javascript",
}

SHOP = {
    "en": ("Larch & Loam", "Plants that stay", "Sent in recycled paper, alive on arrival.", "Add to basket"),
    "ru": ("Larch & Loam", "Растения, которые приживаются", "В переработанной бумаге, живыми.", "В корзину"),
    "cs": ("Larch & Loam", "Rostliny, které vydrží", "V recyklovaném papíru, živé.", "Do košíku"),
}
GOODS = {
    "en": ("Dwarf larch", "Fern for dark corners", "Moss by the tray"),
    "ru": ("Карликовая лиственница", "Папоротник для тёмных углов", "Мох лотками"),
    "cs": ("Zakrslý modřín", "Kapradina do tmavých koutů", "Mech po tácech"),
}
NAMES = {"en": "English", "ru": "Русский", "cs": "Čeština"}


def html(title: str, language: str, head: str, body: str, headers: dict[str, str] | None = None) -> Response[str]:
    text = (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"{head}</head><body>{body}</body></html>"
    )
    return Response(text, media_type=MediaType.HTML, headers=headers or {})


def shop(language: str, path: str) -> str:
    name, claim, promise, button = SHOP[language]
    # paragraphs: links stay far enough apart for a finger where no style may say so
    links = "".join(f'<li><p><a href="{path}?language={code}">{label}</a></p></li>' for code, label in NAMES.items())
    cards = "".join(f'<li><h3>{good}</h3><button type="button">{button}</button></li>' for good in GOODS[language])
    return (
        f"<header><p>{escape(name)}</p><nav aria-label='Language'><ul>{links}</ul></nav></header>"
        f"<main><h1>{claim}</h1><p>{promise}</p><h2>{escape(name)}</h2><ul class='goods'>{cards}</ul>"
    )


def page_language(wanted: str | None) -> str:
    return wanted if wanted in SHOP else "en"


def own_address(request: Request[Any, Any, Any]) -> str:
    """Under which this server was reached, or is said to be."""
    public = services_of(request).settings.public_url
    return public or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"


Language = Annotated[str | None, QueryParameter(max_length=35, required=False)]


@get("/demo", include_in_schema=False)
async def demo(language: Language = None) -> Response[str]:
    code = page_language(language)
    head = '<link rel="stylesheet" href="/demo/files/demo.css"><script async src="/widget/refdesk.js"></script>'
    return html(SHOP[code][0], code, head, f"{shop(code, '/demo')}</main>")


@get("/demo/csp", include_in_schema=False)
async def demo_csp(request: Request[Any, Any, Any], language: Language = None) -> Response[str]:
    """The strictest policy a page can have: no style at all, and no string may become markup or script."""
    code = page_language(language)
    host = own_address(request)
    policy = (
        f"default-src 'none'; script-src {host}; connect-src {host}; img-src {host}; style-src 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    head = '<script src="/demo/files/strict.js"></script><script async src="/widget/refdesk.js"></script>'
    body = (
        f"{shop(code, '/demo/csp')}<h2>Policy</h2><p><code>{escape(policy)}</code></p>"
        '<p>Violations so far: <output id="violations">0</output></p></main>'
    )
    return html(SHOP[code][0], code, head, body, {"Content-Security-Policy": policy})


@get("/demo/check", include_in_schema=False)
async def demo_check(request: Request[Any, Any, Any]) -> Response[str]:
    """A self-check for people who embed the widget: from here by what they say of their page, or on the page itself."""
    head = (
        '<link rel="stylesheet" href="/demo/files/demo.css"><script async src="/widget/refdesk.js"></script>'
        '<script type="module" src="/demo/files/check-page.js"></script>'
    )
    line = f'import("{own_address(request)}/widget/check.js").then((check) => check.report())'
    body = (
        "<main><h1>Will the widget work on my page?</h1>"
        "<h2>On your page itself</h2><p>Open your page, open the browser's console there, and paste:</p>"
        f'<pre tabindex="0"><code id="line">{escape(line, quote=False)}</code></pre>'
        '<h2>From here</h2><form id="asked"><p><label for="origin">Address of your page</label>'
        '<input id="origin" name="origin" type="url" placeholder="https://shop.example.com" autocomplete="off"></p>'
        '<p><label for="policy">Its Content-Security-Policy, if it has one</label>'
        '<textarea id="policy" name="policy" rows="4" spellcheck="false"></textarea></p>'
        '<button type="submit">Check</button></form>'
        '<h2>Verdicts</h2><ul id="verdicts" aria-live="polite"></ul></main>'
    )
    return html("Self-check", "en", head, body)


@get("/demo/files/{name:str}", include_in_schema=False)
async def demo_file(name: FromPath[str]) -> Response[bytes]:
    if name not in FILES:
        raise RequestError(404, "not_found", "There is nothing at this address.")
    content = files("refdesk.api").joinpath("static", name).read_bytes()
    return Response(content, media_type=FILES[name], headers={"Cache-Control": "public, max-age=300"})
