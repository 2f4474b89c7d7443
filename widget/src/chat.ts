// One conversation: what was asked, what came back, and everything that keeps both true across faults and pages.

import { Client, Refused } from "./client.ts";
import type { EventName } from "./events.ts";
import { failureOf, patience, pause } from "./failures.ts";
import { newKey, Session } from "./session.ts";
import { dataOf, type ServerEvent } from "./sse.ts";
import type { Remembered, Storage } from "./storage.ts";
import { newMessage, type Message, type Reading, type State } from "./state.ts";
import { shownSources, type Accepted, type Rating, type Step, type Turn } from "./wire.ts";

const STOP_PATIENCE = 1500;
/** Milliseconds that a question waits for the conversation it belongs to. */
const RESTORE_PATIENCE = 4000;

export class Chat {
  readonly state: State = { open: false, messages: [], view: "chat", reading: null, unread: false, online: navigator.onLine };
  private readonly listeners = new Set<() => void>();
  private readonly session: Session;
  private control: AbortController | null = null;
  private current: Message | null = null;
  private painting = 0;
  private ended = false;
  private restored: Promise<void> = Promise.resolve();
  locale = "";
  context: { url?: string; title?: string } = {};

  constructor(
    readonly client: Client,
    slot: string,
    private readonly emit: (name: EventName, detail?: unknown) => boolean,
  ) {
    this.session = new Session(client, slot);
    window.addEventListener("online", this.onLine);
    window.addEventListener("offline", this.onLine);
    window.addEventListener("pageshow", this.onShow);
  }

  // --- what the view needs ---

  private get storage(): Storage {
    return this.session.storage;
  }

  get busy(): boolean {
    return this.control !== null;
  }

  get kept(): boolean {
    return this.storage.works;
  }

  get wasOpen(): boolean {
    return this.storage.read().open === true;
  }

  get earlier(): Remembered[] {
    return this.storage.read().conversations ?? [];
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** At most one rendering per frame, however fast events come. A hidden page draws no frames, so time is the fallback. */
  private paint(): void {
    if (this.painting) return;
    const draw = () => {
      this.painting = 0;
      this.listeners.forEach((listener) => listener());
    };
    this.painting = document.hidden ? Number(setTimeout(draw, 100)) : requestAnimationFrame(draw);
  }

  private change(change: Partial<State>): void {
    Object.assign(this.state, change);
    this.paint();
  }

  private readonly onLine = (): void => this.change({ online: navigator.onLine });

  /** A page from the back/forward cache is as it was left; the conversation may have gone on since. */
  private readonly onShow = (event: PageTransitionEvent): void => {
    if (!event.persisted || this.busy) return;
    const shown = this.state.messages.find((message) => message.turn.id)?.turn.conversation_id;
    if (shown !== this.storage.read().conversation) this.change({ messages: [] });
    void this.restore(true);
  };

  // --- opening and closing ---

  setOpen(open: boolean): void {
    if (open === this.state.open) return;
    this.change({ open, ...(open ? { unread: false } : { reading: null, view: "chat" }) });
    if (!this.ended) this.storage.write({ open });
    this.emit(open ? "open" : "close");
  }

  show(view: State["view"]): void {
    this.change({ view });
  }

  /** Conversations of the visitor that the token vouches for; null: anonymous again. Rejects if the server refuses it. */
  async identify(identity: string | null): Promise<void> {
    if (identity !== this.session.identity) this.abandon();
    if (!(await this.session.identify(identity))) return;
    this.change({ messages: [], reading: null, view: "chat" });
    await this.restore();
  }

  // --- conversations ---

  /** Shows the conversation that this browser last had; one that is gone is forgotten without a word. */
  async restore(anew = false): Promise<void> {
    const { token, conversation } = this.storage.read();
    if (!token || !conversation || (this.state.messages.length && !anew)) return;
    this.restored = this.fetch(conversation, token);
    await this.restored;
  }

  /** Shows an earlier conversation. An answer that is running goes on at the server, and is followed when one returns. */
  async load(id: string): Promise<void> {
    const { token } = this.storage.read();
    if (!token) return;
    this.control?.abort();
    this.control = null;
    this.storage.write({ conversation: id });
    this.change({ messages: [], view: "chat", reading: null });
    this.restored = this.fetch(id, token);
    await this.restored;
  }

  /** What is asked meanwhile stands below what was said before, and waits for it. */
  private async fetch(id: string, token: string): Promise<void> {
    try {
      const { turns } = await this.client.conversation(id, token);
      if (this.storage.read().conversation !== id) return;
      const { messages } = this.state;
      const known = new Map(messages.filter(({ failure }) => !failure).map((message) => [message.turn.id, message]));
      const said = turns.map((turn) => known.get(turn.id) ?? newMessage(turn));
      const rest = messages.filter((message) => turns.every(({ id }) => id !== message.turn.id));
      this.change({ messages: [...said, ...rest] });
      this.goOn();
    } catch (error) {
      if (!(error instanceof Refused)) return;
      if (error.status === 401) this.session.forget();
      else if (error.status === 404) this.forget(id);
    }
  }

  /** Follows an answer that was running when the page was left. */
  private goOn(): void {
    const running = this.state.messages.find((message) => message.phase !== "ended");
    if (!running || this.busy) return;
    running.turn.answer = "";
    void this.run(running);
  }

  private forget(id: string): void {
    this.session.forgetConversation(id);
    this.paint();
  }

  async erase(id: string): Promise<void> {
    const { token, conversation } = this.storage.read();
    if (!token) return;
    try {
      await this.client.erase(id, token);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) return;
    }
    if (conversation === id) this.reset();
    this.forget(id);
  }

  reset(): void {
    this.abandon();
    this.storage.write({ conversation: undefined });
    this.change({ messages: [], reading: null, view: "chat" });
    this.emit("reset");
  }

  /** Signed out: nothing of the visitor stays on this device. */
  shutdown(): void {
    this.ended = true;
    this.abandon();
    this.session.clear();
    window.removeEventListener("online", this.onLine);
    window.removeEventListener("offline", this.onLine);
    window.removeEventListener("pageshow", this.onShow);
  }

  private abandon(): void {
    if (this.control) void this.stop();
    this.control?.abort();
    this.control = null;
  }

  // --- asking ---

  async ask(text: string): Promise<Turn | undefined> {
    const question = text.trim();
    if (!question || this.busy || !this.emit("question", { question })) return undefined;
    const message = newMessage({ question });
    this.change({ messages: [...this.state.messages, message], view: "chat", reading: null });
    await this.run(message);
    return message.turn;
  }

  /** A question that never reached an answer is asked in its own place, any other once more at the end. */
  async retry(message: Message | undefined = this.state.messages.at(-1)): Promise<Turn | undefined> {
    if (!message || this.busy || (message.failure && message.failure.retryAt > Date.now())) return undefined;
    if (!message.failure) return this.ask(message.turn.question);
    const fresh = newMessage({ question: message.turn.question });
    this.change({ messages: this.state.messages.map((each) => (each === message ? fresh : each)) });
    await this.run(fresh);
    return fresh.turn;
  }

  async stop(): Promise<void> {
    const { control, current: message } = this;
    if (!control || !message) return;
    this.emit("stop", { turn: message.turn.id });
    const timer = setTimeout(() => control.abort(), STOP_PATIENCE);
    control.signal.addEventListener("abort", () => clearTimeout(timer));
    const { token } = this.storage.read();
    if (!message.turn.id || !token) return control.abort();
    try {
      const turn = await this.client.stop(message.turn.id, token);
      if (this.control === control) this.finish(message, turn);
    } catch {
      // the stream's own end, or the timer, says how it went
    }
    control.abort();
  }

  private async run(message: Message): Promise<void> {
    const control = new AbortController();
    this.control = control;
    this.current = message;
    this.paint();
    try {
      await this.follow(message, control.signal);
    } finally {
      if (this.control === control) {
        this.control = null;
        this.conclude(message);
        this.goOn();
      }
    }
  }

  private async follow(message: Message, signal: AbortSignal): Promise<void> {
    let key = newKey();
    let renewed = false;
    for (let attempt = 0; ; attempt++) {
      try {
        for await (const event of await this.events(message, key, signal)) {
          if (event.id !== message.lastEvent) attempt = 0;
          this.take(message, event);
          if (message.phase === "ended") return;
        }
        throw new TypeError("the stream ended early");
      } catch (error) {
        if (signal.aborted) return this.stopped(message);
        if (!renewed && this.isLostSession(error)) {
          renewed = true;
          key = newKey();
          this.beginAnew(message, error);
          continue;
        }
        const wait = patience(error, attempt);
        if (wait === null) return this.fail(message, error);
        message.phase = "reconnecting";
        this.paint();
        await pause(wait, signal);
        if (signal.aborted) return this.stopped(message);
      }
    }
  }

  private async events(message: Message, key: string, signal: AbortSignal): Promise<AsyncGenerator<ServerEvent>> {
    await Promise.race([this.restored, pause(RESTORE_PATIENCE, signal)]);
    const token = await this.session.token();
    if (message.turn.id) return this.client.follow(message.turn.id, token, message.lastEvent, signal);
    const page = {
      url: (this.context.url ?? location.origin + location.pathname).slice(0, 2000),
      title: (this.context.title ?? document.title).slice(0, 300),
    };
    const conversation = this.storage.read().conversation ?? null;
    const asked = { question: message.turn.question, conversation_id: conversation, locale: this.locale || null, page };
    return this.client.ask(asked, token, key, signal);
  }

  private isLostSession(error: unknown): error is Refused {
    return error instanceof Refused && (error.status === 401 || error.status === 404);
  }

  /** The session or the conversation is gone: what can be asked again is, in a conversation of its own. */
  private beginAnew(message: Message, { status }: Refused): void {
    const { conversation } = this.storage.read();
    if (status === 401) this.session.forget();
    else if (conversation) this.forget(conversation);
    Object.assign(message, newMessage({ question: message.turn.question }), { key: message.key });
    this.change({ messages: [message] });
  }

  private take(message: Message, event: ServerEvent): void {
    const data = dataOf(event);
    if (!data) return;
    if (event.id) message.lastEvent = event.id;
    if (message.phase === "reconnecting") message.phase = message.turn.answer ? "answering" : "waiting";
    if (event.name === "accepted") this.accepted(message, data as unknown as Accepted);
    else if (event.name === "step") this.step(message, data as unknown as Step);
    else if (event.name === "delta" && typeof data["text"] === "string") {
      message.turn.answer += data["text"];
      message.phase = "answering";
    } else if (event.name === "done") this.finish(message, data as unknown as Turn);
    else if (event.name === "error") {
      this.fail(message, new Refused(Number(data["status"]) || 500, String(data["code"] ?? ""), "", 0));
    }
    this.paint();
  }

  private accepted(message: Message, accepted: Accepted): void {
    message.turn.id = accepted.turn_id;
    message.turn.conversation_id = accepted.conversation_id;
    this.session.remember(accepted, message.turn.question);
  }

  private step(message: Message, step: Step): void {
    message.steps = [...message.steps, step];
    this.emit("step", step);
  }

  /** The turn is authoritative: it replaces whatever was streamed. */
  private finish(message: Message, turn: Turn): void {
    if (message.phase === "ended") return;
    message.turn = { ...message.turn, ...turn };
    message.phase = turn.status === "running" ? message.phase : "ended";
    message.fresh = true;
  }

  private stopped(message: Message): void {
    if (message.phase !== "ended") this.finish(message, { ...message.turn, status: "stopped" });
  }

  private fail(message: Message, error: unknown): void {
    message.phase = "ended";
    message.turn.status = "failed";
    message.failure = failureOf(error);
  }

  private conclude(message: Message): void {
    this.change(this.state.open ? {} : { unread: true });
    const { turn, failure } = message;
    if (failure) {
      this.emit("error", { kind: failure.kind, retryAt: failure.retryAt, question: turn.question });
      return;
    }
    const detail = { id: turn.id, status: turn.status, question: turn.question, answer: turn.answer, sources: shownSources(turn) };
    this.emit("answer", detail);
    if (turn.status === "insufficient") this.emit("refusal", detail);
  }

  // --- after the answer ---

  async rate(message: Message, rating: Rating, comment: string): Promise<boolean> {
    const before = message.turn.feedback ?? null;
    message.turn.feedback = { rating, comment };
    this.paint();
    try {
      await this.client.rate(message.turn.id, await this.session.token(), rating, comment);
    } catch {
      message.turn.feedback = before;
      this.paint();
      return false;
    }
    this.emit("feedback", { turn: message.turn.id, rating, comment });
    return true;
  }

  async read(id: string, place: { quotes?: string[]; section?: string; from?: Element | null } = {}): Promise<void> {
    if (!this.emit("article-open", { id })) return;
    const reading: Reading = { id, quotes: [], section: "", article: null, missing: false, from: null, ...place };
    this.change({ reading });
    try {
      reading.article = await this.session.article(id);
    } catch {
      reading.missing = true;
    }
    this.paint();
  }

  closeReader(): void {
    this.change({ reading: null });
  }
}
