// The second stage: the panel. One controller per element ties the conversation, the view and the page together.

import { render } from "preact";
import { App } from "./app.tsx";
import { Chat } from "./chat.ts";
import { Client } from "./client.ts";
import { keepFocus } from "./focus.ts";
import type { Surroundings } from "./parts.tsx";
import type { RefdeskChat } from "./refdesk.ts";
import { PANEL_CSS } from "./styles.ts";
import type { ServerSettings } from "./wire.ts";

let panelSheet: CSSStyleSheet | undefined;

/** Events that a page's shortcuts and search boxes listen for; what is typed here is not theirs. */
const KEPT_INSIDE = ["keydown", "keyup", "keypress", "beforeinput", "input", "paste", "copy", "cut", "compositionstart", "compositionend"];

export interface Look extends Surroundings {
  floating: boolean;
  title: string;
  greeting: string;
  starters: string[];
  disclosure: string;
}

export class Controller {
  readonly chat: Chat;
  readonly prefilled: { text: string } = { text: "" };
  private readonly mount = document.createElement("div");
  private readonly narrow = window.matchMedia("(max-width:640px),(max-height:420px)");
  private server: ServerSettings = {};
  private settled = false;
  private opener: Element | null = null;
  private restoring = false;

  constructor(private readonly element: RefdeskChat) {
    const { settings } = element;
    const emit = element.emitter.emit.bind(element.emitter);
    this.chat = new Chat(new Client(settings.server!), element.storageKey, emit);
    this.chat.locale = element.language;
    this.setContext(settings.context ?? {});
    if (!panelSheet) {
      panelSheet = new CSSStyleSheet();
      panelSheet.replaceSync(PANEL_CSS);
    }
    element.root.adoptedStyleSheets = [...element.root.adoptedStyleSheets, panelSheet];
    element.root.append(this.mount);
    for (const name of KEPT_INSIDE) element.root.addEventListener(name, (event) => event.stopPropagation());
    keepFocus(element.root, this.mount, () => this.composer());
    this.chat.listen(() => this.draw());
    this.narrow.addEventListener("change", this.draw);
    this.draw();
    void this.refresh();
    // as it was on the page before, but without taking the focus, and never over all of a small screen
    if (element.floating && this.chat.wasOpen && !this.narrow.matches) {
      this.restoring = true;
      this.chat.setOpen(true);
    }
    if (!settings.identity) void this.chat.restore();
  }

  get isOpen(): boolean {
    return !this.element.floating || this.chat.state.open;
  }

  /** The server's own texts; without them the built-in ones do. */
  async refresh(): Promise<void> {
    this.chat.locale = this.element.language;
    try {
      this.server = await this.chat.client.settings(this.element.language);
    } catch {
      // an older server has no such address, or the network is down: asking will tell
    }
    this.settled = true;
    this.draw();
  }

  private look(): Look {
    const { element, server } = this;
    const { settings, strings, lang: language } = element;
    return {
      chat: this.chat,
      strings,
      language,
      server: settings.server!,
      root: element.root,
      floating: element.floating,
      contact: settings.contact ?? server.contact ?? {},
      notice: settings.notice ?? server.notice ?? "",
      title: settings.title || server.name || strings.title,
      greeting: this.settled ? settings.greeting || server.greeting || strings.greeting : "",
      starters: settings.starters ?? server.starter_questions ?? [],
      disclosure: settings.disclosure?.trim() || server.disclosure?.trim() || strings.ai,
    };
  }

  readonly draw = (): void => {
    const { open, unread } = this.chat.state;
    this.element.dress(open, unread);
    render(<App look={this.look()} controller={this} />, this.mount);
    this.place();
  };

  /** Opens or closes the dialog as the state says: beside the page, or over all of a small screen. */
  private place(): void {
    const dialog = this.mount.querySelector("dialog");
    if (!dialog?.isConnected) return;
    const { open } = this.chat.state;
    const modal = this.narrow.matches;
    if (open && this.restoring) {
      this.restoring = false;
      // `show()` would move the focus
      dialog.setAttribute("open", "");
    } else if (open && (!dialog.open || dialog.matches(":modal") !== modal)) {
      const { activeElement } = this.element.root;
      if (dialog.open) dialog.close();
      else this.opener = document.activeElement === this.element ? activeElement : document.activeElement;
      if (modal) dialog.showModal();
      else dialog.show();
      const within = activeElement instanceof HTMLElement && dialog.contains(activeElement) ? activeElement : null;
      (within ?? this.composer())?.focus();
    } else if (!open && dialog.open) {
      dialog.close();
      this.returnFocus();
    }
  }

  private returnFocus(): void {
    const { opener } = this;
    const there = opener instanceof HTMLElement && opener.isConnected && opener !== document.body && opener !== document.documentElement;
    (there ? opener : this.element.launcher)?.focus({ preventScroll: true });
  }

  composer(): HTMLTextAreaElement | null {
    return this.mount.querySelector<HTMLTextAreaElement>(".composer textarea");
  }

  /** The element is on a page again: a dialog that was open must be shown anew. */
  attached(): void {
    const dialog = this.mount.querySelector("dialog");
    if (dialog?.open && this.chat.state.open) dialog.removeAttribute("open");
    this.draw();
  }

  open({ message, prefill }: { message?: string; prefill?: string }): void {
    this.chat.setOpen(true);
    this.draw();
    if (prefill !== undefined) {
      const area = this.composer();
      if (area) {
        area.value = prefill;
        area.dispatchEvent(new Event("input"));
      }
    }
    if (message) void this.chat.ask(message);
  }

  close(): void {
    this.chat.setOpen(false);
    this.draw();
  }

  /** What Escape leaves, innermost first. True if there was something. */
  leave(): boolean {
    const { state } = this.chat;
    if (state.reading) this.chat.closeReader();
    else if (state.view === "history") this.chat.show("chat");
    else if (this.chat.busy) void this.chat.stop();
    else if (this.element.floating) this.close();
    else return false;
    return true;
  }

  emit(...event: Parameters<RefdeskChat["emitter"]["emit"]>): boolean {
    return this.element.emitter.emit(...event);
  }

  setContext(context: { url?: string; title?: string }): void {
    this.chat.context = context;
  }

  async identify(identity: string | null): Promise<void> {
    try {
      await this.chat.identify(identity);
    } catch (error) {
      this.emit("error", { kind: "identity", message: error instanceof Error ? error.message : "" });
      throw error;
    }
  }

  shutdown(): void {
    this.chat.shutdown();
    this.narrow.removeEventListener("change", this.draw);
    render(null, this.mount);
    this.mount.remove();
  }
}
