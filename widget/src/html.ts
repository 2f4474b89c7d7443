// The server's sanitised HTML of an article, as DOM, without an HTML sink (Trusted Types would refuse one).
// The serialised form is regular: quoted attributes, escaped text. What is not on the lists below is dropped or unwrapped.

import { decodeEntities } from "./inline.ts";
import { setTarget, type LinkRule } from "./markdown.ts";
import { safeUrl } from "./urls.ts";

const TAG = /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z][\w:-]*(?:=(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*\/?>|<!--[^]*?-->/gi;
const KEPT = new Set(
  ("p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code strong b em i del s sub sup kbd mark a img " +
    "table thead tbody tfoot tr th td caption dl dt dd figure figcaption abbr details summary").split(" "),
);
const VOID = new Set(["br", "hr", "img"]);
/** Their content is no text for a reader. */
const SILENT = new Set(["script", "style", "template", "iframe", "object", "svg", "math", "title"]);
const DEEPEST = 60;

function attributes(text: string): Map<string, string> {
  const found = [...text.matchAll(/([a-z][\w:-]*)(?:="([^"]*)")?/gi)];
  return new Map(found.map(([, name, value]) => [name!.toLowerCase(), decodeEntities(value ?? "")]));
}

function make(name: string, given: Map<string, string>, link: LinkRule, server: string): HTMLElement | null {
  if (name === "img") {
    const source = safeUrl(given.get("src") ?? "", server);
    // pictures come from the help centre's own host or not at all: no page that is read tells a third party
    if (!source || new URL(source).origin !== new URL(server).origin) return null;
    const image = document.createElement("img");
    image.src = source;
    image.alt = given.get("alt") ?? "";
    image.setAttribute("loading", "lazy");
    return image;
  }
  if (name === "a") {
    const target = link(given.get("href") ?? "");
    if (!target) return null;
    const anchor = document.createElement("a");
    setTarget(anchor, target.href, target.article);
    return anchor;
  }
  const element = document.createElement(name);
  if (name === "ol" && /^\d{1,6}$/.test(given.get("start") ?? "")) element.setAttribute("start", given.get("start")!);
  if ((name === "th" || name === "td") && /^\d{1,2}$/.test(given.get("colspan") ?? "")) element.setAttribute("colspan", given.get("colspan")!);
  const language = given.get("lang");
  if (language && /^[a-z]{2,3}(-[a-z0-9]+)*$/i.test(language)) element.lang = language;
  if (name === "pre" || name === "table") element.classList.add("wide");
  if (name === "pre") element.tabIndex = 0;
  return element;
}

export function htmlToDom(html: string, link: LinkRule, server: string): DocumentFragment {
  const root = document.createDocumentFragment();
  const open: { name: string; node: Node }[] = [];
  const here = (): Node => open.at(-1)?.node ?? root;
  let at = 0;
  let silent = "";
  let level = 2;
  /** The panel's own heading is the second level; an article that skips one must not mislead a screen reader. */
  const placed = (name: string): string => {
    if (!/^h[1-6]$/.test(name)) return name;
    level = Math.min(Math.max(3, Number(name[1]) + 1), level + 1, 6);
    return `h${level}`;
  };
  const text = (until: number) => {
    if (!silent && until > at) here().appendChild(document.createTextNode(decodeEntities(html.slice(at, until))));
  };
  for (const match of html.matchAll(TAG)) {
    text(match.index);
    at = match.index + match[0].length;
    const name = match[2]?.toLowerCase() ?? "";
    const closing = match[1] === "/";
    if (silent || SILENT.has(name)) {
      if (!silent && !closing) silent = name;
      else if (closing && name === silent) silent = "";
    } else if (closing) {
      const index = open.findLastIndex((entry) => entry.name === name);
      if (index >= 0) open.length = index;
    } else if (KEPT.has(name) && open.length < DEEPEST) {
      const element = make(placed(name), attributes(match[3] ?? ""), link, server);
      if (element) here().appendChild(element);
      if (element && !VOID.has(name)) open.push({ name, node: element });
    }
  }
  text(html.length);
  return root;
}
