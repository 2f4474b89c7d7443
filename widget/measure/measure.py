"""Prints size and timings of the widget beside others, all in one run on one machine and one page.

    python widget/measure/measure.py                       # fetches deep-chat and docsgpt with `npm pack`
    python widget/measure/measure.py --onyx dist/onyx-widget.js    # its build; it is not on npm

Without the build of Onyx's widget its three libraries are measured, from npm: what it cannot be smaller or faster than.

Script time is Chromium's ScriptDuration at a CPU throttled four times, less that of the same page without a widget.
Compare figures within a run only; seven loads each, the median is printed."""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, CDPSession, Response, sync_playwright

sys.path.append(str(Path(__file__).parents[2] / "tests" / "browser"))

from chromium import LAUNCH
from help_stub import TAG, HelpStub

WIDGET = Path(__file__).parents[1]
DEEP_CHAT, DOCSGPT = "2.4.2", "0.5.1"
ONYX_LIBRARIES = ("lit@3.3.3", "marked@18.2.1", "dompurify@3.5.0")
ONYX_ENTRY = """import { LitElement, html } from "lit"; import { marked } from "marked"; import purify from "dompurify";
customElements.define("onyx-libraries", class extends LitElement {
  render() { return html`<button title=${purify.sanitize(marked.parse("*Open*"))}></button>`; } });"""
LOADS = 7
ROW = "{:<18} {:>8} {:>9} {:>9} {:>14} {:>15}"


def fetched(folder: Path, name: str, version: str, file: str) -> bytes:
    command = ["npm", "pack", "--silent", f"{name}@{version}"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603
    shutil.unpack_archive(folder / f"{name}-{version}.tgz", folder / name)
    return (folder / name / "package" / file).read_bytes()


def onyx_libraries(folder: Path) -> bytes:
    """An element that uses them, bundled as this widget is."""
    place = folder / "onyx"
    place.mkdir()
    (place / "entry.js").write_text(ONYX_ENTRY, "utf-8")
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), *ONYX_LIBRARIES]
    subprocess.run(install, cwd=place, check=True, capture_output=True)  # noqa: S603
    esbuild = WIDGET / "node_modules" / ".bin" / "esbuild"
    bundle = [str(esbuild), "entry.js", "--bundle", "--minify", "--format=esm", "--charset=utf8"]
    return subprocess.run(bundle, cwd=place, check=True, capture_output=True).stdout  # noqa: S603


def script_seconds(session: CDPSession) -> float:
    metrics: Any = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))


def load(browser: Browser, address: str, opener: str | None) -> dict[str, Any]:
    context = browser.new_context(viewport={"width": 1000, "height": 760})
    page = context.new_page()
    responses: list[Response] = []
    third: set[str] = set()
    origin = address.rsplit("/", 1)[0]

    def seen(response: Response) -> None:
        responses.append(response)

    page.on("response", seen)
    page.on(
        "request",
        lambda request: third.add(request.url) if not request.url.startswith((origin, "data:", "blob:")) else None,
    )
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(address, wait_until="networkidle")
    page.wait_for_timeout(500)
    boot = script_seconds(session) * 1000
    opened = None
    if opener is not None:
        opened = page.evaluate(
            """async (opener) => {
            const host = document.querySelector('refdesk-chat').shadowRoot;
            const start = performance.now();
            host.querySelector(opener).click();
            for (;;) {
              if (host.activeElement?.tagName === 'TEXTAREA') return performance.now() - start;
              await new Promise(requestAnimationFrame);
            }
          }""",
            opener,
        )
    own = {each.url: each.body() for each in responses if each.url.startswith(origin) and each.url.endswith(".js")}
    context.close()
    size = sum(len(gzip.compress(body, 9)) for body in own.values())
    return {"bytes": size, "requests": len(own), "third": len(third), "boot": boot, "opened": opened}


def pages(stub: HelpStub, onyx: Path | None, folder: Path) -> dict[str, tuple[str, str | None]]:
    def adding(name: str, script: bytes, body: str, kind: str = "module") -> tuple[str, str | None]:
        stub.scripts[f"/{name}.js"] = script.decode()
        return stub.page(path=f"/{name}", head=f'<script type="{kind}" src="/{name}.js"></script>', body=body), None

    found = {
        "(no widget)": (stub.page(path="/none", head=""), None),
        "refdesk": (stub.page(path="/refdesk", head=TAG), ".launcher"),
    }
    found["deep-chat"] = adding(
        "deep-chat",
        fetched(folder, "deep-chat", DEEP_CHAT, "dist/deepChat.bundle.js"),
        '<deep-chat demo="true"></deep-chat>',
    )
    start = b";renderDocsGPTWidget('app', {apiHost: location.origin});"
    found["docsgpt"] = adding(
        "docsgpt", fetched(folder, "docsgpt", DOCSGPT, "dist/modern/browser.js") + start, '<div id="app"></div>'
    )
    if onyx is None:
        found["Onyx's libraries"] = adding("libraries", onyx_libraries(folder), "<onyx-libraries></onyx-libraries>")
    else:
        body = '<onyx-chat-widget backend-url="/v1" api-key="x"></onyx-chat-widget>'
        found["onyx"] = adding("onyx", onyx.read_bytes(), body)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onyx", type=Path, help="the built onyx-widget.js")
    given = parser.parse_args()
    stub = HelpStub()
    print(ROW.format("", "gzip KB", "requests", "third-p.", "boot ms @4x", "opening ms @4x"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**LAUNCH)
        baseline = 0.0
        for name, (address, opener) in pages(stub, given.onyx, Path(folder)).items():
            runs = [load(browser, address, opener) for _ in range(LOADS)]
            boot = median(run["boot"] for run in runs)
            baseline = boot if name == "(no widget)" else baseline
            first, opened = runs[0], f"{median(run['opened'] for run in runs):.0f}" if opener else ""
            figures = [f"{first['bytes'] / 1024:.1f}", first["requests"], first["third"], f"{boot - baseline:.1f}"]
            print(ROW.format(name, *figures, opened), flush=True)
        browser.close()
    stub.close()


if __name__ == "__main__":
    main()
