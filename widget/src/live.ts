// Renders a growing Markdown text: finished blocks keep their nodes, so selection, focus and scroll position survive;
// only the block at the end changes, and it changes in place.

import { parseBlocks } from "./blocks.ts";
import { heal } from "./heal.ts";
import type { Builder } from "./markdown.ts";

interface Shown {
  raw: string;
  element: HTMLElement;
}

export class LiveMarkdown {
  private blocks: Shown[] = [];

  constructor(
    private readonly host: HTMLElement,
    private readonly builder: Builder,
  ) {}

  update(text: string, finished: boolean): void {
    const blocks = parseBlocks(finished ? text : heal(text));
    blocks.forEach((block, index) => {
      const raw = block.type + block.raw.trimEnd();
      const shown = this.blocks[index];
      if (shown?.raw === raw) return;
      const element = this.builder.block(block);
      this.blocks[index] = { raw, element: shown ? replace(shown.element, element) : element };
      if (!shown) this.host.append(element);
    });
    for (const { element } of this.blocks.splice(blocks.length)) element.remove();
  }
}

/** The element that then stands there: the old one, changed, if it is of the same kind. */
function replace(old: HTMLElement, fresh: HTMLElement): HTMLElement {
  if (old.nodeName === fresh.nodeName && old.className === fresh.className) {
    become(old, fresh);
    return old;
  }
  old.replaceWith(fresh);
  return fresh;
}

/** Makes one element's content equal to another's with as few changes as possible. */
function become(element: Element, model: Element): void {
  const wanted = [...model.childNodes];
  wanted.forEach((node, index) => {
    const present = element.childNodes[index];
    if (!present) element.append(node);
    else if (present instanceof Text && node instanceof Text) {
      if (present.data !== node.data) present.data = node.data;
    } else if (present instanceof Element && node instanceof Element && sameShell(present, node)) become(present, node);
    else present.replaceWith(node);
  });
  while (element.childNodes.length > wanted.length) element.lastChild!.remove();
}

function sameShell(one: Element, other: Element): boolean {
  return one.nodeName === other.nodeName && ["href", "data-article", "start"].every((name) => one.getAttribute(name) === other.getAttribute(name));
}
