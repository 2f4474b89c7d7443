import assert from "node:assert/strict";
import { test } from "node:test";
import { heal } from "../src/heal.ts";
import { LiveMarkdown } from "../src/live.ts";
import { Builder } from "../src/markdown.ts";
import { useDom } from "./dom.ts";

useDom();

const ANSWERS = [
  "To reset it:\n\n1. Open **Settings → Security**.\n2. Choose *Reset* and confirm with the `one-time` code.\n   - Use the newest code\n   - It lasts **10 minutes**\n3. Pick a new password.\n\nSee [Reset your password](https://h.example/articles/reset#steps) and [Two-step login](https://h.example/articles/2fa).\n\n| Plan | Code lifetime |\n| --- | ---: |\n| Free | 10 min |\n| **Team** | 60 min |\n\n```bash\ncurl -X POST https://api.example.com/reset \\\n  -d 'a=1'\n```\n\n> **Note:** codes are single use.\n\n## Still stuck?\n\nUse snake_case_names and 2 * 3 * 4 = 24.\n",
  "Yes. You can export **all** invoices as *PDF* or ***both PDF and CSV***:\n\n- Go to **Billing** → [Invoices](https://h.example/billing)\n- Press `Ctrl` + `E`\n- Choose e.g. `2024-01..2024-03`\n\n1) First\n2) Second\n\n---\n\nThat's it! ~~Old way~~ no longer works.\n",
  "The limits are:\n\n| Limit | Free | Pro |\n|:------|:----:|----:|\n| Seats | 3 | 50 |\n| [API](https://h.example/api) calls | 1,000 | `unlimited` |\n\n### Notes\n\n* Nested\n  * item **bold**\n    * deep\n\n~~~\nplain fence\n~~~\n\nThe unit is \\[km/h\\] and the list [a] stays.\n",
  "Сброс занимает **10 минут** ([Пароль](https://h.example/a)).\n\n返金は**30日以内**です。\n\nتستغرق **10 دقائق**.",
];

const RAW = /\*\*|__|~~|\]\(|^\s*#{1,6}(\s|$)|\|\s*-{2,}|(^|\n)\s*\||`/m;

for (const [number, answer] of ANSWERS.entries()) {
  for (const step of [1, 3, 17]) {
    test(`answer ${number} in pieces of ${step}: no raw mark, no flip, no shrinking, and in the end the plain rendering`, () => {
      const host = document.createElement("div");
      const builder = new Builder((href) => ({ href }));
      const live = new LiveMarkdown(host, builder);
      let text = "";
      let tags: string[] = [];
      for (let end = step; end < answer.length; end += step) {
        live.update(answer.slice(0, end), false);
        const now = spoken(host);
        assert.doesNotMatch(outsideCode(host), RAW, answer.slice(Math.max(0, end - 30), end));
        assert.ok(now.startsWith(text), `${JSON.stringify(text.slice(-40))} became ${JSON.stringify(now.slice(-40))}`);
        const names = [...host.children].map((child) => child.tagName);
        assert.deepEqual(names.slice(0, tags.length), tags);
        [text, tags] = [now, names];
      }
      live.update(answer, true);
      const whole = document.createElement("div");
      whole.append(builder.markdown(answer));
      assert.equal(host.innerHTML, whole.innerHTML);
    });
  }
}

function spoken(host: Element): string {
  return host.textContent!.replace(/\s+/g, "");
}

function outsideCode(host: Element): string {
  const copy = host.cloneNode(true) as Element;
  copy.querySelectorAll("code").forEach((code) => code.remove());
  return copy.textContent!;
}

test("finished blocks keep their nodes, and so selection and focus", () => {
  const host = document.createElement("div");
  const live = new LiveMarkdown(host, new Builder((href) => ({ href })));
  live.update("First [link](https://a.example).\n\nSecond", false);
  const link = host.querySelector("a");
  live.update("First [link](https://a.example).\n\nSecond goes on\n\n- and on", false);
  assert.equal(host.querySelector("a"), link);
  live.update("First [link](https://a.example).\n\nSecond goes on\n\n- and on", true);
  assert.equal(host.querySelector("a"), link);
});

test("half a mark is held back, an open one is closed", () => {
  assert.equal(heal("a **bo"), "a **bo**");
  assert.equal(heal("a **"), "a");
  assert.equal(heal("a *it **bo"), "a *it **bo***");
  assert.equal(heal("see [the ti"), "see");
  assert.equal(heal("see [the title](https://h.ex"), "see");
  assert.equal(heal("text\n\n1."), "text");
  assert.equal(heal("code `x"), "code `x`");
  assert.equal(heal("| a | b |\n| --- |"), "");
});

test("an answer that was stopped in the middle of a mark shows none of it", () => {
  const host = document.createElement("div");
  new LiveMarkdown(host, new Builder((href) => ({ href }))).update("Open **Sett", false);
  assert.equal(host.innerHTML, "<p>Open <strong>Sett</strong></p>");
});

test("an answer of the greatest length is healed, whatever it repeats", { timeout: 60_000 }, () => {
  for (const piece of ["[", "![", "[a](", "*a ", "**a", "`", "<a", "| a |\n", "```\n", "a\n", "> ", "_a_"]) {
    const text = piece.repeat(30_000 / piece.length);
    assert.equal(typeof heal(text), "string");
  }
});
