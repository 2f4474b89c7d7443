// The first stage: runs when the script arrives, on any page, as little as possible. It puts up the launcher and takes
// commands; the panel (Preact, Markdown, the conversation) is in the same file but is evaluated at its first use.

import { Emitter, type Handler } from "./events.ts";
import type { Controller } from "./panel.tsx";
import { fromAttributes, languageOf, merge, type Settings } from "./settings.ts";
import { direction, spoken, stringsFor, type Strings } from "./strings.ts";
import { ICONS, LAUNCHER_CSS } from "./styles.ts";

type Command = [name: string, ...rest: unknown[]];
interface Stub {
  q?: ArrayLike<unknown>[];
  version?: string;
}

const script =
  (document.currentScript as HTMLScriptElement | null) ??
  [...document.querySelectorAll<HTMLScriptElement>('script[src*="/widget/refdesk"]')].at(-1) ??
  null;
const global = window as unknown as { Refdesk?: Stub; refdeskSettings?: Settings };
const fromScript = fromAttributes((name) => script?.getAttribute(`data-${name}`));
const home = new URL(script?.src || location.href).origin;

let launcherSheet: CSSStyleSheet | undefined;
let elements = 0;

export class RefdeskChat extends HTMLElement {
  readonly root: ShadowRoot = this.attachShadow({ mode: "open" });
  readonly emitter = new Emitter(() => this);
  /** What `boot` and `update` gave; the lowest layers are read when asked for, so a late `refdeskSettings` counts. */
  given: Settings = {};
  floating = false;
  launcher: HTMLButtonElement | null = null;
  private ended = false;
  private number = 0;
  private controller: Controller | null = null;
  private loading: Promise<Controller> | null = null;

  get settings(): Settings {
    const own = this.floating ? {} : fromAttributes((name) => this.getAttribute(name));
    const settings = merge(fromScript, global.refdeskSettings, own, this.given);
    return { ...settings, server: (settings.server || home).replace(/\/+$/, "") };
  }

  get language(): string {
    return languageOf(this.settings);
  }

  get strings(): Strings {
    return stringsFor(this.language, this.settings.strings);
  }

  /** The storage key: one conversation per help centre and widget of the page. */
  get storageKey(): string {
    const { server, name } = this.settings;
    return `refdesk:${server}:${name || this.id || (this.floating ? "" : `inline-${this.number}`)}`;
  }

  connectedCallback(): void {
    if (this.ended) return;
    if (!launcherSheet) {
      launcherSheet = new CSSStyleSheet();
      launcherSheet.replaceSync(LAUNCHER_CSS);
    }
    if (!this.root.adoptedStyleSheets.length) this.root.adoptedStyleSheets = [launcherSheet];
    if (!this.floating) {
      this.number ||= ++elements;
      this.toggleAttribute("inline", true);
      void this.load();
    } else if (!this.launcher) {
      this.addLauncher();
      // storage is slow to open for the first time: not while the page is being built
      whenIdle(() => {
        if (!this.ended && wasOpen(this.storageKey)) void this.load();
      });
    }
    this.dress();
    this.controller?.attached();
  }

  /** Turbo, htmx and the like put a new body in place: the widget moves over with its state. */
  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (this.floating && !this.ended && !this.isConnected) document.body?.append(this);
    });
  }

  private addLauncher(): void {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "launcher";
    button.setAttribute("part", "launcher");
    button.setAttribute("aria-haspopup", "dialog");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.append(path);
    button.append(svg);
    button.addEventListener("click", () => void this.toggle());
    this.launcher = button;
    this.root.append(button);
  }

  /** Language, direction, theme and the launcher's label; called again whenever one of them may have changed. */
  dress(open = false, unread = false): void {
    const { settings } = this;
    const { theme, position, launcher } = settings;
    const language = languageOf(settings);
    this.lang = spoken(language, settings.strings);
    this.dir = direction(this.lang);
    if (!this.getAttribute("theme") || this.floating) this.setAttribute("theme", theme ?? "auto");
    if (this.floating) this.setAttribute("position", position ?? "end");
    if (!this.launcher) return;
    const strings = stringsFor(language, settings.strings);
    this.launcher.setAttribute("aria-label", open ? strings.close : unread ? `${strings.open}: ${strings.unread}` : strings.open);
    this.launcher.setAttribute("aria-expanded", String(open));
    this.launcher.querySelector("path")!.setAttribute("d", open ? ICONS.fold : ICONS.chat);
    this.launcher.classList.toggle("unread", unread && !open);
    this.launcher.hidden = launcher === false;
  }

  load(): Promise<Controller> {
    this.loading ??= import("./panel.tsx").then(({ Controller }) => (this.controller = new Controller(this)));
    return this.loading;
  }

  // --- what a page may do with it ---

  async open(options: { message?: string; prefill?: string } = {}): Promise<void> {
    const controller = await this.load();
    controller.open(options);
  }

  async close(): Promise<void> {
    this.controller?.close();
  }

  async toggle(): Promise<void> {
    if (this.controller?.isOpen) this.controller.close();
    else await this.open();
  }

  async ask(question: string, options: { context?: { url?: string; title?: string } } = {}): Promise<unknown> {
    const controller = await this.load();
    if (options.context) controller.setContext(options.context);
    controller.open({});
    return controller.chat.ask(String(question));
  }

  async stop(): Promise<void> {
    await this.controller?.chat.stop();
  }

  async retry(): Promise<unknown> {
    return (await this.load()).chat.retry();
  }

  async reset(): Promise<void> {
    (await this.load()).chat.reset();
  }

  async openArticle(id: string, options: { quote?: string; section?: string } = {}): Promise<void> {
    const controller = await this.load();
    controller.open({});
    const quotes = options.quote ? [options.quote] : [];
    await controller.chat.read(String(id), { quotes, section: options.section ?? "" });
  }

  async identify(identity: string | { token?: string | null } | null): Promise<void> {
    const token = identity && typeof identity === "object" ? (identity.token ?? null) : identity;
    this.given.identity = token;
    await (await this.load()).identify(token);
  }

  async setContext(context: { url?: string; title?: string }): Promise<void> {
    this.given.context = context;
    this.controller?.setContext(context);
  }

  async update(settings: Settings): Promise<void> {
    this.given = merge(this.given, settings);
    this.dress(this.controller?.isOpen);
    await this.controller?.refresh();
  }

  on(name: string, handler: Handler): () => void {
    return this.emitter.on(name, handler);
  }

  get isOpen(): boolean {
    return this.controller?.isOpen ?? false;
  }

  /** Signs out: the conversation leaves this device, the element leaves the page. */
  async shutdown(): Promise<void> {
    this.ended = true;
    const controller = await this.load();
    controller.shutdown();
    this.remove();
  }
}

function whenIdle(then: () => void): void {
  if ("requestIdleCallback" in window) requestIdleCallback(then, { timeout: 500 });
  else setTimeout(then, 100);
}

/** Whether the panel was open on the page before: then it is evaluated at once. */
function wasOpen(slot: string): boolean {
  try {
    const kept = JSON.parse(localStorage.getItem(slot) ?? "{}") as { open?: boolean; at?: number };
    return kept.open === true && (kept.at ?? 0) > Date.now() - 24 * 3600 * 1000;
  } catch {
    return false;
  }
}

// --- the page's interface ---

let floating: RefdeskChat | null = null;
let announceReady: () => void;
let ready = new Promise<void>((resolve) => (announceReady = resolve));
const waiting: [string, Handler, { off?: () => void }][] = [];

function whenBody(then: () => void): void {
  if (document.body) then();
  else document.addEventListener("DOMContentLoaded", then, { once: true });
}

const commands = {
  boot(settings: Settings = {}): void {
    if (floating) return void floating.update(settings);
    const element = document.createElement("refdesk-chat") as RefdeskChat;
    floating = element;
    element.floating = true;
    element.given = merge(settings);
    for (const [name, handler, entry] of waiting.splice(0)) entry.off = element.on(name, handler);
    whenBody(() => {
      if (floating !== element) return;
      document.body.append(element);
      announceReady();
      element.emitter.emit("ready");
      if (element.settings.identity) void element.identify(element.settings.identity).catch(() => undefined);
    });
  },
  async shutdown(): Promise<void> {
    const element = floating;
    floating = null;
    ready = new Promise((resolve) => (announceReady = resolve));
    await element?.shutdown();
  },
  async ready(then?: () => void): Promise<void> {
    await ready;
    then?.();
  },
  on(name: string, handler: Handler): () => void {
    if (floating) return floating.on(name, handler);
    const entry: { off?: () => void } = {};
    waiting.push([name, handler, entry]);
    return () => {
      entry.off?.();
      const index = waiting.findIndex((each) => each[2] === entry);
      if (index >= 0) waiting.splice(index, 1);
    };
  },
  once(name: string, handler: Handler): () => void {
    const off = commands.on(name, (detail, event) => {
      off();
      handler(detail, event);
    });
    return off;
  },
  isOpen: (): boolean => floating?.isOpen ?? false,
  show: (): unknown => whenReady((element) => element.update({ launcher: true })),
  hide: (): unknown => whenReady((element) => element.update({ launcher: false })),
};

/** Commands on the widget wait until it is on the page. */
async function whenReady<T>(command: (element: RefdeskChat) => T): Promise<Awaited<T>> {
  await ready;
  return await command(floating!);
}

const FORWARDED = ["update", "open", "close", "toggle", "ask", "stop", "retry", "reset", "openArticle", "identify", "setContext"] as const;
const forwarded = Object.fromEntries(
  FORWARDED.map((name) => [
    name,
    (...rest: unknown[]) => whenReady((element) => (element[name] as (...given: unknown[]) => Promise<unknown>)(...rest)),
  ]),
);

function start(): void {
  if (global.Refdesk?.version) {
    console.info("Refdesk is already on this page; the second script tag does nothing.");
    return;
  }
  const queued = [...(global.Refdesk?.q ?? [])].map((entry) => [...Array.from(entry)] as Command);
  const all: Record<string, unknown> = { ...commands, ...forwarded };
  const run = (name: string, ...rest: unknown[]): unknown => {
    const command = Object.hasOwn(all, name) ? all[name] : undefined;
    if (typeof command === "function") return (command as (...given: unknown[]) => unknown)(...rest);
    return void console.error(`Refdesk has no command ${JSON.stringify(name)}.`);
  };
  global.Refdesk = Object.assign(run, all, { version: "1" }) as Stub;
  if (!customElements.get("refdesk-chat")) customElements.define("refdesk-chat", RefdeskChat);
  const boot = queued.findIndex(([name]) => name === "boot");
  if (boot >= 0) run(...queued.splice(boot, 1)[0]!);
  else if (merge(fromScript, global.refdeskSettings).autoboot !== false) commands.boot();
  for (const command of queued) void run(...command);
}

start();
