// An answer for the clipboard: plain text with numbers and a list of the visible sources, and the same with links.

import { heal } from "./heal.ts";
import { Builder } from "./markdown.ts";
import { safeUrl } from "./urls.ts";
import { shownSources, type Source, type Turn } from "./wire.ts";

/** Visible sources by first mention in the answer, then those it does not mention; numbers are places in this list. */
export function numbered(turn: Turn, hrefs: string[], server: string): Source[] {
  const shown = shownSources(turn);
  const rank = (source: Source) => {
    const at = hrefs.indexOf(safeUrl(source.url ?? "", server) ?? "");
    return at < 0 ? hrefs.length : at;
  };
  return shown.map((source) => ({ source, at: rank(source) })).sort((a, b) => a.at - b.at).map(({ source }) => source);
}

export function answerForClipboard(turn: Turn, server: string, sourcesLabel: string): { text: string; html: string } {
  const builder = new Builder((href) => {
    const url = safeUrl(href, server);
    return url ? { href: url } : null;
  });
  const body = document.createElement("div");
  body.append(builder.markdown(turn.answer));
  const anchors = [...body.querySelectorAll("a")];
  const sources = numbered(turn, anchors.map((anchor) => anchor.href), server);
  for (const anchor of anchors) {
    anchor.removeAttribute("target");
    const number = sources.findIndex((source) => safeUrl(source.url ?? "", server) === anchor.href);
    if (number >= 0) anchor.after(` [${number + 1}]`);
  }
  const lines = sources.map((source, index) => {
    const url = safeUrl(source.url ?? "", server);
    return `[${index + 1}] ${source.title}${url ? ` ${url}` : ""}`;
  });
  const text = [plain(body).trim(), ...(lines.length ? [`${sourcesLabel}:\n${lines.join("\n")}`] : [])].join("\n\n");
  if (sources.length) body.append(sourceList(sources, server, sourcesLabel));
  return { text, html: body.innerHTML };
}

/** A text as it is read: its words, without marks and addresses. A row of a table that stands alone is its cells. */
export function words(markdown: string): string {
  const body = document.createElement("div");
  body.append(new Builder(() => null).markdown(markdown.replace(/^\|(.+)\|$/, (_, row: string) => row.replace(/ *(?<!\\)\| */g, " · "))));
  return plain(body).trim();
}

export const spokenAnswer = ({ status, answer }: Turn): string => words(status === "stopped" ? heal(answer) : answer);

function sourceList(sources: Source[], server: string, label: string): Node {
  const part = document.createElement("div");
  const heading = document.createElement("p");
  heading.append(`${label}:`);
  const list = document.createElement("ol");
  for (const source of sources) {
    const item = document.createElement("li");
    const url = safeUrl(source.url ?? "", server);
    const title = document.createElement(url ? "a" : "span");
    if (url) title.setAttribute("href", url);
    title.append(source.title);
    item.append(title);
    list.append(item);
  }
  part.append(heading, list);
  return part;
}

const BLOCKS = /^(DIV|P|PRE|BLOCKQUOTE|UL|OL|TABLE|H[1-6]|HR)$/;

/** The text as a person would type it. */
export function plain(node: Node, indent = ""): string {
  let text = "";
  let number = node instanceof HTMLOListElement ? node.start : 0;
  for (const child of node.childNodes) {
    if (!(child instanceof HTMLElement)) {
      text += child.textContent ?? "";
      continue;
    }
    if (child.tagName === "LI") {
      const mark = node instanceof HTMLOListElement ? `${number++}. ` : "- ";
      text += `${text ? "\n" : ""}${indent}${mark}${plain(child, `${indent}  `).trim()}`;
    } else if (child.tagName === "TR") {
      text += `${text ? "\n" : ""}${[...child.children].map((cell) => plain(cell).trim()).join("\t")}`;
    } else if (child.tagName === "BR") {
      text += "\n";
    } else if (child.tagName === "THEAD" || child.tagName === "TBODY") {
      text += `${text ? "\n" : ""}${plain(child)}`;
    } else if (BLOCKS.test(child.tagName)) {
      const nested = /^(UL|OL)$/.test(child.tagName) && node instanceof HTMLLIElement;
      text = `${text.trimEnd()}${text.trim() ? (nested ? "\n" : "\n\n") : ""}${plain(child, indent)}`;
    } else {
      text += plain(child, indent);
    }
  }
  return text;
}

/** Must run in the visitor's click. Old or insecure pages have no clipboard API. */
export async function copy(root: ShadowRoot, text: string, html: string): Promise<boolean> {
  try {
    const item = new ClipboardItem({
      "text/plain": new Blob([text], { type: "text/plain" }),
      "text/html": new Blob([html], { type: "text/html" }),
    });
    await navigator.clipboard.write([item]);
    return true;
  } catch {
    return copyBySelection(root, text);
  }
}

function copyBySelection(root: ShadowRoot, text: string): boolean {
  const focused = root.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  root.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}

/** The conversation for the person who takes over: sent only with consent. */
export function transcript(turns: Turn[]): string {
  return turns.map((turn) => `> ${turn.question.replace(/\n/g, "\n> ")}\n\n${turn.answer}`.trim()).join("\n\n---\n\n");
}
