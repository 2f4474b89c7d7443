// Finds quoted text in a rendered article and marks it. A quote is Markdown of the article, the page is its rendering:
// letters and digits are what both have in common, so those are compared, in order, and nothing else.

import { decodeEntities } from "./inline.ts";

interface Place {
  node: Text;
  offset: number;
}

/** White space between their children is no text. */
const NO_TEXT = /^(UL|OL|TABLE|THEAD|TBODY|TR|DL)$/;
const SPOKEN = /[\p{L}\p{N}]/u;

function letters(root: Node): { text: string; places: Place[] } {
  const places: Place[] = [];
  let text = "";
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    let offset = 0;
    for (const char of node.data) {
      for (const folded of fold(char)) {
        text += folded;
        for (let unit = 0; unit < folded.length; unit++) places.push({ node, offset });
      }
      offset += char.length;
    }
  }
  return { text, places };
}

function* fold(char: string): Generator<string> {
  for (const part of char.normalize("NFKC")) {
    const plain = part === "ё" ? "е" : part === "Ё" ? "Е" : part;
    if (SPOKEN.test(plain)) yield plain;
  }
}

function foldAll(text: string): string {
  let folded = "";
  for (const char of text) for (const part of fold(char)) folded += part;
  return folded;
}

/** Addresses inside link syntax are not read by anybody; the label is. */
const withoutTargets = (quote: string): string => quote.replace(/\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+"[^"]*")?\)/g, "]");

/** Where the section with this path begins, as an index into the letters. */
function sectionStart(root: Element, section: string, text: string, places: Place[]): number {
  const last = foldAll(section.split(" › ").at(-1) ?? "");
  if (!last) return 0;
  for (const heading of root.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    if (foldAll(heading.textContent) !== last) continue;
    const index = places.findIndex((place) => heading.contains(place.node));
    if (index >= 0) return text.indexOf(last, index);
  }
  return 0;
}

/** Marks the quote, in its section if it occurs there; the first mark, or the section's heading, or null. */
export function highlight(root: Element, quote: string, section = ""): Element | null {
  const { text, places } = letters(root);
  const wanted = foldAll(decodeEntities(withoutTargets(quote)));
  const from = sectionStart(root, section, text, places);
  const inSection = wanted ? text.indexOf(wanted, from) : -1;
  const at = inSection >= 0 || !wanted ? inSection : text.indexOf(wanted);
  if (at < 0) return from > 0 ? (places[from]?.node.parentElement ?? null) : null;
  const { node, offset } = places[at + wanted.length - 1]!;
  return wrap(root, places[at]!, { node, offset: offset + tailLength(node.data.slice(offset), quote) });
}

/** How far the last letter and, if the quote ends with signs, the signs behind it reach. */
function tailLength(text: string, quote: string): number {
  const signs = /[^\p{L}\p{N}\s]$/u.test(quote) ? /^.[^\p{L}\p{N}\s]*/u : /^./u;
  return signs.exec(text)![0].length;
}

/** Everything from the first to the last letter, the signs between them included; the last place is the end. */
function wrap(root: Element, first: Place, last: Place): Element | null {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    if (nodes.length || node === first.node) nodes.push(node);
    if (node === last.node) break;
  }
  let made: Element | null = null;
  for (const node of nodes) {
    const from = node === first.node ? first.offset : 0;
    const to = node === last.node ? last.offset : node.data.length;
    if (!node.data.slice(from, to).trim() || NO_TEXT.test(node.parentElement!.tagName)) continue;
    const middle = node.splitText(from);
    middle.splitText(to - from);
    const mark = document.createElement("mark");
    middle.replaceWith(mark);
    mark.append(middle);
    made ??= mark;
  }
  return made;
}

/** The claim that a link in an answer most likely rests on: the one that shares most words with what stands around it. */
export function nearest<T extends { text: string; quote?: string | null }>(claims: T[], around: string): T | undefined {
  const words = new Set(around.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []);
  const score = (claim: T) => {
    const own = `${claim.text} ${claim.quote ?? ""}`.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
    return [...new Set(own)].filter((word) => words.has(word)).length / Math.sqrt(own.length + 1);
  };
  return claims.map((claim) => ({ claim, points: score(claim) })).sort((a, b) => b.points - a.points)[0]?.claim;
}
