// Who is asking: the session token, kept apart for the anonymous visitor and for each person who signs in.

import { Refused, type Client } from "./client.ts";
import { clearSlots, Storage } from "./storage.ts";
import type { Accepted, Article } from "./wire.ts";

export const newKey = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
};

/** A stable name for who signed in: another person, or another set of roles, gets other conversations. */
async function slotOf(identity: string): Promise<string> {
  try {
    const payload = identity.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
    const { sub, roles } = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (c) => c.charCodeAt(0)))) as Record<string, unknown>;
    const name = new TextEncoder().encode(JSON.stringify([sub, roles ?? []]));
    if (!crypto.subtle) return newKey();
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", name));
    return [...hash.slice(0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  } catch {
    return newKey();
  }
}

export class Session {
  storage: Storage;
  identity: string | null = null;
  private settling: Promise<unknown> = Promise.resolve();
  private opening: Promise<string> | null = null;

  constructor(
    private readonly client: Client,
    private readonly slot: string,
  ) {
    this.storage = new Storage(slot);
  }

  /** Changes over to whom the token vouches for; null: anonymous again, and nothing of the person stays. Resolves to
   * whether it is somebody else now; rejects if the server refuses the token. */
  identify(identity: string | null): Promise<boolean> {
    const change = this.settling.then(() => this.changeTo(identity));
    this.settling = change.catch(() => undefined);
    return change;
  }

  private async changeTo(identity: string | null): Promise<boolean> {
    const storage = new Storage(identity ? `${this.slot}:${await slotOf(identity)}` : this.slot);
    if (identity && !storage.read().token) storage.write({ token: await this.client.openSession(identity) });
    if (!identity && this.identity) this.storage.clear();
    if (identity === this.identity) return false;
    this.identity = identity;
    this.storage = storage;
    this.opening = null;
    return true;
  }

  /** The token, of a session that is opened now if there is none yet. */
  async token(): Promise<string> {
    await this.settling;
    const { token } = this.storage.read();
    if (token) return token;
    this.opening ??= this.client
      .openSession(this.identity ?? undefined)
      .then((fresh) => {
        this.storage.write({ token: fresh });
        return fresh;
      })
      .finally(() => (this.opening = null));
    return this.opening;
  }

  /** Of nobody who asked here, signed in or not, anything stays in the browser. */
  clear(): void {
    this.storage.clear();
    clearSlots(this.slot);
  }

  forget(): void {
    this.storage.write({ token: undefined, conversation: undefined, conversations: [] });
  }
  /** The conversation that goes on from here, first among those that can be returned to. */
  remember({ conversation_id: id, token }: Accepted, question: string): void {
    const { conversations = [] } = this.storage.read();
    const known = conversations.find((each) => each.id === id);
    const entry = { id, title: known?.title ?? question.slice(0, 80), at: Date.now() };
    const others = conversations.filter((each) => each !== known);
    this.storage.write({ ...(token ? { token } : {}), conversation: id, conversations: [entry, ...others] });
  }

  forgetConversation(id: string): void {
    const { conversation, conversations = [] } = this.storage.read();
    this.storage.write({
      conversation: conversation === id ? undefined : conversation,
      conversations: conversations.filter((known) => known.id !== id),
    });
  }

  /** What everybody may read can be read without a session too. */
  async article(id: string): Promise<Article> {
    const { token } = this.storage.read();
    try {
      return await this.client.article(id, token);
    } catch (error) {
      if (token && error instanceof Refused && error.status === 401) return this.client.article(id);
      throw error;
    }
  }
}
