import assert from "node:assert/strict";
import { test } from "node:test";
import { micromark } from "micromark";
import { gfmStrikethrough, gfmStrikethroughHtml } from "micromark-extension-gfm-strikethrough";
import { gfmTable, gfmTableHtml } from "micromark-extension-gfm-table";
import { Builder } from "../src/markdown.ts";
import { parseBlocks, type Block } from "../src/blocks.ts";
import { parseInline, decodeEntities, type Inline } from "../src/inline.ts";
import { useDom } from "./dom.ts";

useDom();

/** The reference reading of CommonMark, in the server's dialect. */
function reference(markdown: string): string {
  return micromark(markdown, {
    allowDangerousProtocol: true,
    extensions: [
      gfmTable(),
      gfmStrikethrough({ singleTilde: false }),
      { disable: { null: ["definition", "codeIndented", "htmlText", "htmlFlow", "setextUnderline"] } },
    ],
    htmlExtensions: [gfmTableHtml(), gfmStrikethroughHtml()],
  });
}

const builder = new Builder((href) => ({ href: `https://x.example/?${encodeURIComponent(href)}` }), 4);

function ours(markdown: string): string {
  const host = document.createElement("div");
  host.append(builder.markdown(markdown));
  return shape(host);
}

function theirs(markdown: string): string {
  const host = document.createElement("div");
  host.innerHTML = reference(markdown);
  host.querySelectorAll("img").forEach((image) => image.replaceWith(image.alt));
  return shape(host);
}

/** Structure and text, without what differs on purpose: heading levels, wrappers, check boxes. */
function shape(node: Node): string {
  if (node.nodeType === 3) return (node.textContent ?? "").replace(/\s+/g, " ");
  if (!(node instanceof HTMLElement)) return "";
  const inner = [...node.childNodes].map(shape).join("").replace(/\s+/g, " ").replace(/ ?(<\/?(?:P|LI|UL|OL|H|HR|BLOCKQUOTE|PRE|TABLE|TR|TD|TH|BR)>) ?/g, "$1").trim();
  const name = node.tagName.replace(/^H[1-6]$/, "H").replace("DIV", "").replace(/^(THEAD|TBODY)$/, "");
  return name ? `<${name}>${inner}</${name}>` : inner;
}

const SAMPLES = [
  "# One\n\ntext *em* **strong** ***both*** ~~gone~~ `code` snake_case_name 2 * 3 * 4",
  "1. first\n2. second\n   - inner **bold**\n   - more\n\n3. third",
  "3) a\n4) b\n\n- x\n- y\n\n  second paragraph\n- z",
  "> quote\n> still\nlazy\n\nafter",
  "> - a\n>   b\n> - c\n",
  "| Plan | Price |\n| --- | ---: |\n| Free | `0` |\n| **Team** | 5 \\| 6 |\n\nafter",
  "```bash\ncurl -X POST \\\n  'a | b'\n```\n\n~~~\nplain\n~~~",
  "````\n```\nnested\n```\n````",
  "- item\n\n  ```\n  code in item\n\n  more\n  ```\n- next",
  "a\n***\nb\n- - -\n___",
  "line one  \nline two\\\nline three\nsoft",
  "[label](https://a.example/x_(y)) and [two](</path with space> \"title\") and ![alt *x*](img.png)",
  "[outer [inner](https://i.example) rest](https://o.example)",
  "\\*not em\\* \\[not link\\](x) &amp; &lt;b&gt; &#65; &copy;",
  "`` a ` b `` and ` `` ` and `unclosed",
  "*a **b* c** and **a *b** c*",
  "foo*bar*baz foo_bar_baz _foo_bar_ __init__",
  "<https://auto.example/x> and <b>raw</b> <img src=x onerror=alert(1)>",
  "**Note:** text, *„quoted“* and **(paren)**.",
  "* a\n  * b\n    * c\n      * d",
  "1. a\n\n   b\n\n2. c",
  "text\n1. one\n2. two",
  "text\n2. not a list",
  "# head #\n## \n#nohead\n####### seven",
  "a | b\nnot a table",
  "[a]: https://evil.example\n\n[a] and [b][a]",
  "тест *курсив* и **жирный**, 東京**太字**です",
  "***a** b*  and ****four**** and *a*b*",
];

for (const sample of SAMPLES) {
  test(`reads like CommonMark: ${JSON.stringify(sample.slice(0, 50))}`, () => assert.equal(ours(sample), theirs(sample)));
}

function ourLinks(blocks: Block[]): string[] {
  const inline = (pieces: Inline[]): string[] =>
    pieces.flatMap((piece) => ("children" in piece && piece.type !== "image" ? [...(piece.type === "link" ? [piece.href] : []), ...inline(piece.children)] : []));
  return blocks.flatMap((block) => {
    if (block.type === "list") return block.items.flatMap(ourLinks);
    if (block.type === "quote") return ourLinks(block.children);
    if (block.type === "table") return [...block.head, ...block.rows.flat()].flatMap((text) => inline(parseInline(text)));
    return "text" in block && block.type !== "code" ? inline(parseInline(block.text)) : [];
  });
}

function referenceLinks(markdown: string): string[] {
  const host = document.createElement("div");
  host.innerHTML = reference(markdown);
  return [...host.querySelectorAll("a")].map((anchor) => decodeURI(anchor.getAttribute("href")!));
}

/** A small generator of hostile text: the same seed gives the same text. */
function* scraps(seed: number, count: number): Generator<string> {
  const parts = ["[", "]", "(", ")", "](https://e.example/a)", "`", "``", "*", "**", "_", "\\", "\n", "\n\n", "- ", "> ", "1. ", "# ", "|", " | ", "a", "word ", "<", ">", "<https://u.example>", "!", "![", "~~", "```\n", "  ", "    ", "é", "&lt;"];
  let state = seed;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (let i = 0; i < count; i++) {
    yield Array.from({ length: 2 + Math.floor(next() * 14) }, () => parts[Math.floor(next() * parts.length)]).join("");
  }
}

test("of 2,000 hostile texts none has a link that CommonMark does not see", () => {
  const surprising: string[] = [];
  for (const text of scraps(7, 2_000)) {
    const known = new Set(referenceLinks(text));
    if (ourLinks(parseBlocks(text)).some((href) => !known.has(href))) surprising.push(text);
  }
  assert.deepEqual(surprising.slice(0, 20).map((t) => JSON.stringify(t)), []);
});

test("hostile repetitions end, and do not exhaust the stack", { timeout: 120_000 }, () => {
  for (const piece of ["[", "*a ", "> ", "- ", "![", "`", "**a", "a](", "<", "|", "1. ", "_a_", "[a](", "\\"]) {
    assert.ok(builder.markdown(piece.repeat(5000)));
  }
});

test("an entity that does not exist, or is part of Object.prototype, stays text", () => {
  assert.equal(decodeEntities("&constructor; &valueOf; &nope; &#0; &#xD800; &#x110000;"), "&constructor; &valueOf; &nope; � � �");
});
