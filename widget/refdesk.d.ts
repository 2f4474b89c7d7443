// Types of the widget's interface: `/// <reference path="refdesk.d.ts" />`, or copy this file into your project.

export {};

export interface RefdeskContact {
  url?: string;
  mail?: string;
  /** Gets the transcript as a POST, once the visitor has consented. */
  callback?: string;
}

export interface RefdeskSettings {
  /** The help centre's address; by default where the script came from. */
  server?: string;
  /** "auto" (the page's language) or a tag such as "cs". */
  language?: string;
  theme?: "auto" | "light" | "dark";
  position?: "end" | "start";
  /** Keeps the conversations of several widgets apart. */
  name?: string;
  title?: string;
  greeting?: string;
  starters?: string[];
  disclosure?: string;
  notice?: string;
  contact?: RefdeskContact;
  /** Texts of the widget itself, for a language that is not built in. */
  strings?: Record<string, string>;
  /** A token that your own backend signed for the visitor. */
  identity?: string | null;
  context?: RefdeskContext;
  launcher?: boolean;
  autoboot?: boolean;
}

export interface RefdeskContext {
  url?: string;
  title?: string;
}

export interface RefdeskSource {
  id: string;
  title: string;
  url?: string | null;
  section?: string;
  excerpt?: string;
}

export interface RefdeskAnswer {
  id: string;
  status: "answered" | "insufficient" | "evidence" | "stopped" | "interrupted" | "failed";
  question: string;
  answer: string;
  sources: RefdeskSource[];
}

export interface RefdeskEvents {
  ready: Record<string, never>;
  open: Record<string, never>;
  close: Record<string, never>;
  /** Cancelable: the question is not asked. */
  question: { question: string };
  step: { tool: string; input?: Record<string, unknown>; articles?: { id: string; title: string }[] };
  answer: RefdeskAnswer;
  refusal: RefdeskAnswer;
  /** Cancelable: neither the reader nor a page opens. */
  "source-click": { href: string; id: string | null; title: string };
  /** Cancelable, like `source-click`. */
  "link-click": { href: string; id: string | null; title: string };
  /** Cancelable. */
  "article-open": { id: string };
  feedback: { turn: string; rating: "up" | "down"; comment: string };
  stop: { turn: string };
  reset: Record<string, never>;
  error: { kind: string; retryAt?: number; question?: string };
}

export interface RefdeskApi {
  boot(settings?: RefdeskSettings): void;
  update(settings: RefdeskSettings): Promise<void>;
  /** Ends the session on this device: for the site's own sign-out. */
  shutdown(): Promise<void>;
  ready(then?: () => void): Promise<void>;
  /** The launcher. */
  show(): Promise<void>;
  hide(): Promise<void>;
  open(options?: { message?: string; prefill?: string }): Promise<void>;
  close(): Promise<void>;
  toggle(): Promise<void>;
  isOpen(): boolean;
  ask(question: string, options?: { context?: RefdeskContext }): Promise<RefdeskAnswer | undefined>;
  stop(): Promise<void>;
  retry(): Promise<RefdeskAnswer | undefined>;
  reset(): Promise<void>;
  openArticle(id: string, options?: { quote?: string; section?: string }): Promise<void>;
  /** Rejects if the help centre refuses the token. */
  identify(identity: string | { token?: string | null } | null): Promise<void>;
  setContext(context: RefdeskContext): Promise<void>;
  on<Name extends keyof RefdeskEvents>(name: Name, handler: (detail: RefdeskEvents[Name], event: Event) => void): () => void;
  once<Name extends keyof RefdeskEvents>(name: Name, handler: (detail: RefdeskEvents[Name], event: Event) => void): () => void;
}

type Commands = { [Name in keyof RefdeskApi]: (name: Name, ...rest: Parameters<RefdeskApi[Name]>) => ReturnType<RefdeskApi[Name]> }[keyof RefdeskApi];

/** `<refdesk-chat>`: an inline widget with the same verbs. */
export interface RefdeskChatElement
  extends HTMLElement,
    Pick<RefdeskApi, "open" | "close" | "ask" | "stop" | "retry" | "reset" | "openArticle" | "identify" | "setContext" | "update" | "on" | "shutdown"> {}

declare global {
  interface Window {
    Refdesk: RefdeskApi & Commands;
    refdeskSettings?: RefdeskSettings;
  }
  interface HTMLElementTagNameMap {
    "refdesk-chat": RefdeskChatElement;
  }
}
