// Reads a stream of server-sent events from a response body. EventSource itself can send neither POST nor headers.

export interface ServerEvent {
  name: string;
  data: string;
  id: string;
}

/** Lines end with CR, LF or CRLF; a CR at the very end of what has arrived may be the half of a CRLF. */
const LINE = /\r\n|\n|\r(?=[^])/g;

/** A byte cut anywhere, inside a character too, gives the same events. `alive` is called whenever bytes arrive. */
export async function* readEvents(body: ReadableStream<Uint8Array>, alive?: () => void): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let id = "";
  let name = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      alive?.();
      rest += decoder.decode(value, { stream: true });
      const lines = rest.split(LINE);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line) {
          const colon = line.indexOf(":");
          const field = colon < 0 ? line : line.slice(0, colon);
          const text = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
          if (field === "data") data.push(text);
          else if (field === "event") name = text;
          else if (field === "id" && !text.includes("\0")) id = text;
        } else {
          if (data.length) yield { name: name || "message", data: data.join("\n"), id };
          name = "";
          data = [];
        }
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** The event's data if it is a JSON object, else null. */
export function dataOf(event: ServerEvent): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(event.data);
    return value && typeof value === "object" ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
