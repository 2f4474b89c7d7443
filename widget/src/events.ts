// Events for the page: handlers registered with `on`, and bubbling DOM events `refdesk:NAME` on the element.

export const EVENTS = [
  "ready", "open", "close", "question", "step", "answer", "refusal", "source-click", "link-click",
  "article-open", "feedback", "stop", "reset", "error",
] as const;
export type EventName = (typeof EVENTS)[number];
export type Handler = (detail: unknown, event: Event) => void;

/** The page may prevent these. */
const CANCELABLE = new Set<EventName>(["question", "source-click", "link-click", "article-open"]);

export class Emitter {
  private readonly handlers = new Map<string, Set<Handler>>();

  constructor(private readonly target: () => EventTarget | undefined) {}

  on(name: string, handler: Handler): () => void {
    const registered = this.handlers.get(name) ?? new Set<Handler>();
    this.handlers.set(name, registered.add(handler));
    return () => void registered.delete(handler);
  }

  /** False if the page prevented what is about to happen. A handler's own error is the page's and goes to its console. */
  emit(name: EventName, detail: unknown = {}): boolean {
    const event = new CustomEvent(`refdesk:${name}`, { detail, bubbles: true, composed: true, cancelable: CANCELABLE.has(name) });
    this.target()?.dispatchEvent(event);
    for (const handler of [...(this.handlers.get(name) ?? [])]) {
      try {
        handler(detail, event);
      } catch (error) {
        console.error(error);
      }
    }
    return !event.defaultPrevented;
  }
}
