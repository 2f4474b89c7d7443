"""Prints size and timings of the widget beside others, all in one run on one machine and one page.

    python widget/measure/measure.py                       # fetches deep-chat and docsgpt with `npm pack`
    python widget/measure/measure.py --onyx dist/onyx-widget.js    # its build; it is not on npm

Script time is Chromium's ScriptDuration at a CPU throttled four times, less that of the same page without a widget.
Compare figures within a run only; three loads each, the median is printed."""

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

from playwright.sync_api import Browser, CDPSession, sync_playwright

sys.path.append(str(Path(__file__).parents[2] / "tests" / "browser"))

from chromium import LAUNCH
from help_stub import TAG, HelpStub

DEEP_CHAT, DOCSGPT = "2.4.2", "0.5.1"
LOADS = 3
ROW = "{:<22} {:>9} {:>9} {:>9} {:>13} {:>13}"


def fetched(folder: Path, name: str, version: str, file: str) -> bytes:
    command = ["npm", "pack", "--silent", f"{name}@{version}"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603
    shutil.unpack_archive(folder / f"{name}-{version}.tgz", folder / name)
    return (folder / name / "package" / file).read_bytes()


def script_seconds(session: CDPSession) -> float:
    metrics: Any = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))


def load(browser: Browser, address: str, opener: str | None) -> dict[str, Any]:
    context = browser.new_context(viewport={"width": 1000, "height": 760})
    page = context.new_page()
    sizes: dict[str, int] = {}
    third: set[str] = set()
    origin = address.rsplit("/", 1)[0]

    def seen(response: Any) -> None:
        if response.url.startswith(origin) and response.url.endswith(".js"):
            sizes[response.url] = len(gzip.compress(response.body(), 9))

    page.on("requestfinished", lambda request: seen(request.response()))
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
    context.close()
    return {"bytes": sum(sizes.values()), "requests": len(sizes), "third": len(third), "boot": boot, "opened": opened}


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
    if onyx is not None:
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
            first = runs[0]
            opened = f"{median(run['opened'] for run in runs):.0f}" if first["opened"] is not None else ""
            figures = [
                f"{first['bytes'] / 1024:.1f}",
                first["requests"],
                first["third"],
                f"{max(0, boot - baseline):.1f}",
                opened,
            ]
            print(ROW.format(name, *figures))
        browser.close()
    stub.close()


if __name__ == "__main__":
    main()
