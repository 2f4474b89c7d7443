// Markdown to DOM without an HTML sink: each piece becomes an element of a short list. Raw HTML is text, an image is its
// description, and an address that is not allowed leaves its label.

import { parseBlocks, type Block } from "./blocks.ts";
import { parseInline, type Inline } from "./inline.ts";

/** Decides about a link: the anchor's address and, for a citation, the article; null leaves the label. */
export type LinkRule = (href: string) => { href: string; article?: string | undefined } | null;

function make(name: string, content: (Node | string)[]): HTMLElement {
  const element = document.createElement(name);
  element.append(...content);
  return element;
}

/** What may be wider than the panel scrolls in itself, by keyboard too. */
function scrollable(element: HTMLElement): HTMLElement {
  element.tabIndex = 0;
  element.classList.add("wide");
  return element;
}

export class Builder {
  /** `heading` is the level of every heading: levels that an answer skips would mislead a screen reader. */
  constructor(
    private readonly link: LinkRule,
    private readonly heading = 4,
  ) {}

  markdown(text: string): DocumentFragment {
    const fragment = document.createDocumentFragment();
    for (const block of parseBlocks(text)) fragment.append(this.block(block));
    return fragment;
  }

  block(block: Block): HTMLElement {
    switch (block.type) {
      case "paragraph":
        return make("p", this.inline(block.text));
      case "heading":
        return make(`h${this.heading}`, this.inline(block.text));
      case "code":
        return scrollable(make("pre", [make("code", [block.text])]));
      case "rule":
        return make("hr", []);
      case "quote":
        return make("blockquote", block.children.map((child) => this.block(child)));
      case "list":
        return this.list(block);
      case "table":
        return this.table(block);
    }
  }

  private list({ start, loose, items }: Block & { type: "list" }): HTMLElement {
    const list = make(start === null ? "ul" : "ol", []);
    if (start !== null && start !== 1) list.setAttribute("start", String(start));
    for (const children of items) {
      // in a tight list a paragraph is the item's own text
      const content = children.flatMap((child) => (child.type === "paragraph" && !loose ? this.inline(child.text) : [this.block(child)]));
      list.append(make("li", content));
    }
    return list;
  }

  private table({ align, head, rows }: Block & { type: "table" }): HTMLElement {
    const row = (texts: string[], name: string) => {
      const made = texts.map((text, column) => {
        const cell = make(name, this.inline(text));
        if (name === "th") cell.setAttribute("scope", "col");
        if (align[column]) cell.classList.add(`to-${align[column]}`);
        return cell;
      });
      return make("tr", made);
    };
    const table = make("table", [make("thead", [row(head, "th")])]);
    if (rows.length) table.append(make("tbody", rows.map((texts) => row(texts, "td"))));
    return scrollable(make("div", [table]));
  }

  private inline(text: string): (Node | string)[] {
    return this.nodes(parseInline(text));
  }

  private nodes(pieces: Inline[]): (Node | string)[] {
    return pieces.flatMap((piece) => {
      switch (piece.type) {
        case "text":
          return [piece.text];
        case "code":
          return [make("code", [piece.text])];
        case "break":
          return [make("br", [])];
        case "image":
          return this.nodes(piece.children).map((node) => (typeof node === "string" ? node : (node.textContent ?? "")));
        case "link":
          return this.anchor(piece.href, this.nodes(piece.children));
        default:
          return [make(piece.type, this.nodes(piece.children))];
      }
    });
  }

  private anchor(address: string, label: (Node | string)[]): (Node | string)[] {
    const target = this.link(address);
    if (!target) return label;
    const anchor = make("a", label) as HTMLAnchorElement;
    setTarget(anchor, target.href, target.article);
    return [anchor];
  }
}

export function setTarget(anchor: HTMLAnchorElement, href: string, article?: string): void {
  anchor.href = href;
  if (!href.startsWith("mailto:")) anchor.target = "_blank";
  anchor.rel = "noopener noreferrer";
  if (article) anchor.dataset["article"] = article;
}
