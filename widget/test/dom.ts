// A browser's globals for `node --test`, from jsdom.

import { JSDOM } from "jsdom";

const NAMES = [
  "window", "document", "HTMLElement", "HTMLAnchorElement", "HTMLOListElement", "HTMLLIElement", "Element", "Node", "Text",
  "NodeFilter", "CustomEvent", "Event", "KeyboardEvent", "location", "localStorage", "customElements", "DocumentFragment",
] as const;

export function useDom(html = "<!doctype html><html lang='en'><body></body></html>"): JSDOM {
  const dom = new JSDOM(html, { url: "https://shop.example/page?secret=1", pretendToBeVisual: true });
  for (const name of NAMES) {
    Object.defineProperty(globalThis, name, { value: dom.window[name], configurable: true, writable: true });
  }
  globalThis.requestAnimationFrame = (callback) => setTimeout(callback, 0) as unknown as number;
  return dom;
}
