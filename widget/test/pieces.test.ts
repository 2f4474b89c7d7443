import assert from "node:assert/strict";
import { test } from "node:test";
import { retrySeconds } from "../src/client.ts";
import { answerForClipboard } from "../src/copying.ts";
import { highlight, nearest } from "../src/highlight.ts";
import { htmlToDom } from "../src/html.ts";
import { Builder } from "../src/markdown.ts";
import { fromAttributes, merge } from "../src/settings.ts";
import { readEvents, type ServerEvent } from "../src/sse.ts";
import { Storage } from "../src/storage.ts";
import { plural, stringsFor } from "../src/strings.ts";
import { safeUrl } from "../src/urls.ts";
import { shownSources, type Turn } from "../src/wire.ts";
import { useDom } from "./dom.ts";

useDom();
const SERVER = "https://help.example";

// --- events ---

async function eventsOf(pieces: Uint8Array[]): Promise<ServerEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      pieces.forEach((piece) => controller.enqueue(piece));
      controller.close();
    },
  });
  const found: ServerEvent[] = [];
  for await (const event of readEvents(body)) found.push(event);
  return found;
}

test("a stream cut at every byte gives the same events", async () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const lines = ["id: 1", "event: delta", 'data: {"text":"Zürich 東京"}', "", ": still here", "", "id: 2", "event: done", "data: {}", "data: x", "", ""];
    const bytes = new TextEncoder().encode(lines.join(end) + (end === "\r" ? "\n" : ""));
    const whole = await eventsOf([bytes]);
    assert.deepEqual(whole.map(({ id, name, data }) => [id, name, data]), [
      ["1", "delta", '{"text":"Zürich 東京"}'],
      ["2", "done", "{}\nx"],
    ]);
    for (let cut = 1; cut < bytes.length; cut++) assert.deepEqual(await eventsOf([bytes.slice(0, cut), bytes.slice(cut)]), whole);
    assert.deepEqual(await eventsOf([...bytes].map((byte) => Uint8Array.of(byte))), whole);
  }
});

test("Retry-After is seconds or a date, and never endless", () => {
  assert.equal(retrySeconds("7"), 7);
  assert.equal(retrySeconds(null), 0);
  assert.equal(retrySeconds("soon"), 0);
  assert.equal(retrySeconds("99999999"), 3600);
  assert.ok(Math.abs(retrySeconds(new Date(Date.now() + 30_000).toUTCString()) - 30) <= 1);
});

// --- addresses and markup ---

test("only http, https and mailto are followed, however they are spelt", () => {
  const refused = [
    "javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "\u0001javascript:alert(1)",
    "data:text/html,x", "vbscript:x", "//evil.example", "/\\evil.example", "\\\\evil.example", "relative", "#top", "?q", "blob:x",
    "https://user:pass@evil.example", "https://", "http:evil.example", "file:///etc/passwd", "https://a\u202e.example", "",
  ];
  for (const href of refused) assert.equal(safeUrl(href, SERVER), null, href);
  assert.equal(safeUrl("/articles/a b", SERVER), "https://help.example/articles/a%20b");
  assert.equal(safeUrl("https://x.example/a_(b)/c%20d?x=[1]", SERVER), "https://x.example/a_(b)/c%20d?x=[1]");
  assert.equal(safeUrl("mailto:a@b.example", SERVER), "mailto:a@b.example");
});

const inert = (href: string) => {
  const url = safeUrl(href, SERVER);
  return url ? { href: url } : null;
};

test("no answer text becomes an element that is not on the list", () => {
  const host = document.createElement("div");
  const hostile =
    "<img src=x onerror=alert(1)> <svg onload=x> ![beacon](http://c.example/?d=1) [x](javascript:alert(1)) <script>1</script>\n\n" +
    "<iframe srcdoc=x></iframe>\n\n[r]: https://evil.example\n\n[r] https://bare.example www.bare.example";
  host.append(new Builder(inert).markdown(hostile));
  assert.deepEqual([...new Set([...host.querySelectorAll("*")].map((each) => each.tagName))], ["P"]);
  assert.match(host.textContent!, /<img src=x onerror=alert\(1\)>/);
  assert.match(host.textContent!, /<script>1<\/script>/);
});

test("the server's HTML keeps its structure and loses everything that acts", () => {
  const html =
    '<h1>Title</h1><h4 id="deep" onclick="x">Deep</h4><p>A &lt;b&gt; &amp; <strong class="x">bold</strong> <a href="/articles/b" target="_top" onclick="x">b</a>' +
    '<a href="javascript:alert(1)">bad</a><img src="/media/a.png" alt="Shop"><img src="https://t.example/pixel.gif" alt="no"></p>' +
    "<ol start=\"3\"><li>three</li></ol><script>alert(1)</script><style>p{}</style><form action=/x><input name=a>kept</form><pre><code>a &lt; b\n</code></pre>";
  const host = document.createElement("div");
  host.append(htmlToDom(html, (href) => inert(href), SERVER));
  assert.equal(
    host.innerHTML,
    '<h3>Title</h3><h4>Deep</h4><p>A &lt;b&gt; &amp; <strong>bold</strong> <a href="https://help.example/articles/b" target="_blank" rel="noopener noreferrer">b</a>' +
      'bad<img src="https://help.example/media/a.png" alt="Shop"></p><ol start="3"><li>three</li></ol>kept<pre class="wide" tabindex="0"><code>a &lt; b\n</code></pre>'.replace(
        'alt="Shop">',
        'alt="Shop" loading="lazy">',
      ),
  );
});

test("unbalanced or cut HTML neither throws nor escapes its container", () => {
  for (const html of ["</div></p><b>x", "<p><b>x</p>y</b>z", "<a href=\"/articles/a", "<<<p>>", "<p>" + "<ul><li>".repeat(500)]) {
    const host = document.createElement("div");
    host.append(htmlToDom(html, inert, SERVER));
    assert.equal(host.querySelector("script"), null);
  }
});

// --- the quoted place ---

function article(markdown: string): HTMLElement {
  const host = document.createElement("div");
  host.append(new Builder(inert, 3).markdown(markdown));
  return host;
}

const marked = (host: Element): string => [...host.querySelectorAll("mark")].map((mark) => mark.textContent).join("¦");

test("a quote is marked through emphasis, links, lists and typographic signs", () => {
  const host = article("Open **Settings** → [Billing](https://x.example/y) now.\n\n- one item\n- two *items*\n");
  assert.ok(highlight(host, "Open **Settings** → [Billing](https://x.example/y) now."));
  assert.equal(marked(host), "Open ¦Settings¦ → ¦Billing¦ now.");
  const list = article("- one item\n- two *items* here\n");
  highlight(list, "- one item\n- two *items*");
  assert.equal(marked(list).replace(/\n/g, ""), "one item¦two ¦items");
  const yo = article("Ещё один “тест”…");
  assert.ok(highlight(yo, 'Еще один "тест"'));
  const signs = article("AT&amp;T sells 5 \\* 3 units.");
  assert.equal(highlight(signs, "AT&amp;T sells 5 \\* 3 units.")?.textContent, "AT&T sells 5 * 3 units.");
});

test("of two occurrences the one in the named section is marked", () => {
  const host = article("## Free\n\nIt lasts 10 days.\n\n## Team\n\nIt lasts 10 days.\n");
  const mark = highlight(host, "It lasts 10 days.", "Plans › Team")!;
  assert.equal(mark.parentElement!.previousElementSibling!.textContent, "Team");
});

test("a quote that is gone leads to its section, or nowhere, and marks nothing", () => {
  const host = article("## Team\n\nOther text.\n");
  assert.equal(highlight(host, "It lasts ten days", "Team")?.tagName, undefined);
  assert.equal(highlight(host, "It lasts ten days"), null);
  assert.equal(marked(host), "");
});

test("a link rests on the claim that shares its words", () => {
  const claims = [
    { text: "Refunds take 14 days.", quote: "Refunds are issued within 14 days." },
    { text: "Gift cards are excluded.", quote: "Gift cards are not refunded." },
  ];
  assert.equal(nearest(claims, "Gift cards are not refunded (see Refunds)."), claims[1]);
});

// --- sources and clipboard ---

const turn: Turn = {
  id: "t_1",
  conversation_id: "c_1",
  question: "q",
  status: "answered",
  answer: "First ([K4](/articles/k4)), **then** [K1](/articles/k1), [K4](/articles/k4), [listed](/articles/k2).\n\n1. one\n2. two\n\n| a | b |\n|---|---|\n| c | d |",
  sources: [
    { id: "k1", title: "Refunds", url: "/articles/k1" },
    { id: "k4", title: "[Beta] *Export*", url: "/articles/k4", show: true },
    { id: "k2", title: "Old", url: "/articles/k2", show: false },
    { id: "k5", title: "返金", url: "/articles/k5", show: null },
  ],
};

test("an absent or null `show` is shown, only false hides, and a refusal shows nothing", () => {
  assert.deepEqual(shownSources(turn).map((source) => source.id), ["k1", "k4", "k5"]);
  assert.deepEqual(shownSources({ ...turn, status: "insufficient" }), []);
  assert.deepEqual(shownSources({ ...turn, sources: undefined }), []);
});

test("what is copied has numbers by first mention and a list of the visible sources", () => {
  const { text, html } = answerForClipboard(turn, SERVER, "Sources");
  assert.equal(
    text,
    "First (K4 [1]), then K1 [2], K4 [1], listed.\n\n1. one\n2. two\n\na\tb\nc\td\n\nSources:\n" +
      "[1] [Beta] *Export* https://help.example/articles/k4\n[2] Refunds https://help.example/articles/k1\n[3] 返金 https://help.example/articles/k5",
  );
  assert.match(html, /<a href="https:\/\/help\.example\/articles\/k4"[^>]*>K4<\/a> \[1\]/);
  assert.doesNotMatch(text + html, /t_1|c_1/);
});

// --- settings, texts, storage ---

test("later settings win over earlier ones", () => {
  const attributes = { theme: "dark", title: "From the tag", starters: "One? | Two?", autoboot: "false" } as Record<string, string>;
  const settings = merge(fromAttributes((name) => attributes[name]), { title: "From the page", theme: undefined }, { theme: "light" });
  assert.deepEqual(settings, { theme: "light", title: "From the page", starters: ["One?", "Two?"], autoboot: false });
});

test("three languages have every text, others fall back to English, a page may replace any but by nothing", () => {
  const [en, ru, cs] = ["en", "ru-RU", "cs"].map((language) => stringsFor(language)) as [object, object, object];
  assert.deepEqual(Object.keys(ru), Object.keys(en));
  assert.deepEqual(Object.keys(cs), Object.keys(en));
  for (const texts of [en, ru, cs]) for (const text of Object.values(texts)) assert.ok(String(text).trim());
  assert.equal(stringsFor("ja", { send: "送信", ai: " " }).send, "送信");
  assert.equal(stringsFor("ja", { send: "送信", ai: " " }).ai, stringsFor("en").ai);
});

test("numbers take the language's plural form", () => {
  const forms = (language: string, counts: number[]) => counts.map((count) => plural(stringsFor(language).sourceCount, count, language));
  assert.deepEqual(forms("en", [1, 2]), ["1 source", "2 sources"]);
  assert.deepEqual(forms("ru", [1, 3, 5, 21]), ["1 источник", "3 источника", "5 источников", "21 источник"]);
  assert.deepEqual(forms("cs", [1, 3, 5]), ["1 zdroj", "3 zdroje", "5 zdrojů"]);
});

test("storage that is blocked, full or damaged costs only the memory of it", () => {
  const storage = new Storage("refdesk:a");
  storage.write({ token: "vt_1", open: true });
  assert.equal(new Storage("refdesk:a").read().token, "vt_1");
  localStorage.setItem("refdesk:a", "{damaged");
  assert.deepEqual(storage.read(), {});
  localStorage.setItem("refdesk:a", JSON.stringify({ token: "old", at: Date.now() - 25 * 3600 * 1000 }));
  assert.deepEqual(storage.read(), {});
  const real = localStorage;
  Object.defineProperty(window, "localStorage", { configurable: true, get: () => { throw new Error("blocked"); } });
  const blocked = new Storage("refdesk:b");
  assert.equal(blocked.works, false);
  blocked.write({ token: "vt_2" });
  assert.equal(blocked.read().token, "vt_2");
  Object.defineProperty(window, "localStorage", { configurable: true, value: real });
});
