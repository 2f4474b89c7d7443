// The panel's view: header, conversation, composer, and what lies over them.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Exchange, announcement } from "./answer.tsx";
import type { Message } from "./state.ts";
import { nearest } from "./highlight.ts";
import type { Controller, Look } from "./panel.tsx";
import { Icon, IconButton } from "./parts.tsx";
import { Reader, articleOf } from "./reader.tsx";
import { fill, formatDate } from "./strings.ts";
import { Tip, type TipTarget } from "./tip.tsx";
import { safeUrl } from "./urls.ts";
import type { Source } from "./wire.ts";

const LONGEST_QUESTION = 2000;

export function App({ look, controller }: { look: Look; controller: Controller }) {
  const { chat } = look;
  const { reading, view, open } = chat.state;
  const [tip, setTip] = useState<TipTarget | null>(null);
  const opened = useRef<Element | null>(null);
  /** The link that was just returned to: the pointer may still rest on it, but what it says has been read. */
  const known = useRef<Element | null>(null);

  // focus goes back to the link that opened the reader, or to the composer
  useLayoutEffect(() => {
    if (reading) opened.current = reading.from;
    else if (opened.current !== null || view === "chat") {
      const link = opened.current;
      known.current = link;
      opened.current = null;
      if (link instanceof HTMLElement && link.isConnected) link.focus({ preventScroll: true });
      setTip(null);
    }
  }, [Boolean(reading)]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    if (tip) {
      event.preventDefault();
      setTip(null);
    } else if (controller.leave()) event.preventDefault();
  };
  const onCancel = (event: Event) => {
    event.preventDefault();
    controller.leave();
  };
  const onClick = (event: MouseEvent) => follow(event, look, controller);
  const onMouseOver = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest("a") === known.current && known.current) return;
    known.current = null;
    setTip(tipTarget(event.target, look, tip));
  };
  const shared = {
    class: "panel",
    part: "panel",
    onKeyDown,
    onClick,
    onMouseOver,
    onFocusIn: (event: FocusEvent) => setTip(tipTarget(event.target, look, tip)),
    onFocusOut: () => setTip(null),
    onMouseLeave: () => setTip(null),
  };
  // what lies under the reader or the list is out of reach: a focus there could not be seen
  const covered = reading !== null || view === "history";
  const content = (
    <>
      <Header look={look} controller={controller} covered={covered} />
      <Log look={look} covered={covered} />
      <Composer look={look} controller={controller} covered={covered} />
      <p class="foot" part="disclosure">
        {look.disclosure}
      </p>
      {view === "history" && <History look={look} />}
      {reading && <Reader key={reading.id} around={look} reading={reading} />}
      {tip && <Tip around={look} target={tip} />}
      <Announcer look={look} quiet={look.floating && !open} />
    </>
  );
  if (look.floating) {
    return (
      <dialog {...shared} aria-labelledby="refdesk-title" onCancel={onCancel}>
        {content}
      </dialog>
    );
  }
  return (
    <section {...shared} aria-labelledby="refdesk-title">
      {content}
    </section>
  );
}

interface Under {
  look: Look;
  controller: Controller;
  covered: boolean;
}

function Header({ look, controller, covered }: Under) {
  const { strings, chat } = look;
  const fresh = () => {
    chat.reset();
    controller.composer()?.focus();
  };
  return (
    <div class="bar" part="header" inert={covered}>
      <h2 id="refdesk-title">{look.title}</h2>
      {chat.earlier.length > 0 && <IconButton label={strings.earlier} icon="clock" onClick={() => chat.show("history")} />}
      {chat.state.messages.length > 0 && <IconButton label={strings.fresh} icon="plus" onClick={fresh} />}
      {look.floating && <IconButton label={strings.close} icon="close" onClick={() => controller.close()} />}
    </div>
  );
}

function Log({ look, covered }: { look: Look; covered: boolean }) {
  const { chat, strings } = look;
  const { messages, online } = chat.state;
  const log = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const placed = useRef(0);
  const [below, setBelow] = useState(false);
  const count = messages.length;

  useLayoutEffect(() => {
    following.current = true;
  }, [count]);
  // the newest question moves up with the answer, until it is at the top; then the visitor reads in peace
  useLayoutEffect(() => {
    const box = log.current!;
    const asked = [...box.querySelectorAll<HTMLElement>(".asked")].at(-1);
    if (following.current && asked) {
      box.scrollTop = Math.min(box.scrollHeight - box.clientHeight, asked.offsetTop - 10);
      placed.current = box.scrollTop;
    }
    setBelow(box.scrollHeight - box.scrollTop - box.clientHeight > 60);
  });
  const onScroll = () => {
    const box = log.current!;
    if (Math.abs(box.scrollTop - placed.current) > 4) following.current = false;
    setBelow(box.scrollHeight - box.scrollTop - box.clientHeight > 60);
  };
  const toLatest = () => (log.current!.scrollTop = log.current!.scrollHeight);
  return (
    <>
      <div class="log" part="log" role="log" aria-live="off" aria-label={strings.conversation} tabIndex={0} inert={covered} ref={log} onScroll={onScroll}>
        {count === 0 && <Intro look={look} />}
        {messages.map((message, index) => (
          <Exchange key={message.key} around={look} message={message} last={index === count - 1} />
        ))}
        {!online && <p class="box small">{strings.offline}</p>}
      </div>
      {below && count > 0 && (
        <button type="button" class="latest" inert={covered} onClick={toLatest}>
          {strings.latest}
        </button>
      )}
    </>
  );
}

function Intro({ look }: { look: Look }) {
  const { chat, strings } = look;
  return (
    <div class="intro">
      {look.greeting && (
        <p part="greeting" dir="auto">
          {look.greeting}
        </p>
      )}
      {look.starters.length > 0 && (
        <ul class="starters" aria-label={strings.starters}>
          {look.starters.map((question) => (
            <li key={question}>
              <button type="button" dir="auto" onClick={() => void chat.ask(question)}>
                {question}
              </button>
            </li>
          ))}
        </ul>
      )}
      {look.notice && <p class="small">{look.notice}</p>}
      {!chat.kept && <p class="small">{strings.notKept}</p>}
    </div>
  );
}

function Composer({ look, controller, covered }: Under) {
  const { chat, strings } = look;
  const [text, setText] = useState("");
  const { busy } = chat;
  const blank = !text.trim();
  const send = () => {
    if (busy || blank) return;
    setText("");
    void chat.ask(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // 229: the key belongs to an input method, also where isComposing is not told
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (busy) void chat.stop();
    else send();
    controller.composer()?.focus();
  };
  const label = busy ? strings.stop : strings.send;
  return (
    <form class="composer" part="composer" inert={covered} onSubmit={onSubmit}>
      <label class="unseen" for="refdesk-question">
        {strings.question}
      </label>
      <textarea
        id="refdesk-question"
        rows={1}
        dir={text ? "auto" : undefined}
        maxLength={LONGEST_QUESTION}
        placeholder={strings.placeholder}
        enterkeyhint="send"
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <button type="submit" class={busy ? "busy" : undefined} aria-label={label} title={label} aria-disabled={!busy && blank}>
        <Icon name={busy ? "stop" : "send"} />
      </button>
    </form>
  );
}

function History({ look }: { look: Look }) {
  const { chat, strings, language } = look;
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => bar.current!.querySelector("button")!.focus(), []);
  const { earlier } = chat;
  return (
    <section class="cover" aria-labelledby="refdesk-earlier">
      <div class="bar" ref={bar}>
        <IconButton label={strings.back} icon="back" flip onClick={() => chat.show("chat")} />
        <h2 id="refdesk-earlier">{strings.earlier}</h2>
      </div>
      <div class="page" tabIndex={0} role="group" aria-labelledby="refdesk-earlier">
        {earlier.length === 0 && <p>{strings.noEarlier}</p>}
        <ul class="list">
          {earlier.map((each) => (
            <li key={each.id}>
              <button type="button" class="pick" onClick={() => void chat.load(each.id)}>
                <span dir="auto">{each.title}</span>
                <span class="small">{formatDate(new Date(each.at).toISOString(), language)}</span>
              </button>
              <IconButton label={fill(strings.erase, each.title)} icon="bin" onClick={() => void chat.erase(each.id)} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** Two announcements per answer: that it is being worked on, and what came of it. Never a piece of a stream. */
function Announcer({ look, quiet }: { look: Look; quiet: boolean }) {
  const { chat, strings } = look;
  const last = chat.state.messages.at(-1);
  const [text, setText] = useState("");
  const phase = last?.phase ?? "";
  const key = last?.key ?? "";
  useEffect(() => {
    if (quiet || !last || (phase === "ended" && !last.fresh && !last.failure)) setText("");
    else if (phase === "ended") setText(announcement(last, look));
    else if (phase === "reconnecting") setText(strings.reconnecting);
    else if (phase === "waiting") setText(strings.working);
  }, [phase, key, quiet]);
  return (
    <div class="unseen" role="status" aria-live="polite" aria-atomic="true">
      {text}
    </div>
  );
}

// --- links ---

function messageOf(link: Element, look: Look): Message | undefined {
  const key = link.closest("[data-turn]")?.getAttribute("data-turn");
  return look.chat.state.messages.find((message) => message.key === key);
}

function sourceOf(link: HTMLAnchorElement, message: Message | undefined, look: Look): Source | undefined {
  const id = link.dataset["article"];
  return message?.turn.sources?.find((source) => (id ? source.id === id : safeUrl(source.url ?? "", look.server) === link.href));
}

/** What the answer quotes of a source: for a link in the text, the claim that fits what stands around it. */
export function quotesOf(message: Message | undefined, source: Source, link: HTMLAnchorElement): { quotes: string[]; section: string } {
  const claims = (message?.turn.claims ?? []).filter((claim) => claim.source_id === source.id && claim.quote);
  const chip = link.classList.contains("chip");
  const around = link.closest("p,li,td,th,h4,blockquote")?.textContent ?? "";
  const chosen = chip ? claims : claims.length ? [nearest(claims, around)!] : [];
  const quotes = [...new Set(chosen.map((claim) => claim.quote!))];
  if (quotes.length) return { quotes, section: chosen[0]?.location ?? "" };
  return { quotes: source.excerpt ? [source.excerpt] : [], section: source.section ?? "" };
}

function follow(event: MouseEvent, look: Look, controller: Controller): void {
  const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
  if (!link || link.dataset["page"] !== undefined) return;
  const message = messageOf(link, look);
  const source = sourceOf(link, message, look);
  const id = link.dataset["article"] ?? source?.id ?? articleOf(link.href, look.server);
  const name = link.classList.contains("chip") ? "source-click" : "link-click";
  const going = controller.emit(name, { href: link.href, id: id ?? null, title: source?.title ?? link.textContent });
  if (!going) return event.preventDefault();
  if (!id || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const { quote, section } = (link.parentElement?.dataset ?? {}) as { quote?: string; section?: string };
  const place = quote ? { quotes: [quote], section: section ?? "" } : source ? quotesOf(message, source, link) : {};
  void look.chat.read(id, { ...place, from: look.chat.state.reading?.from ?? link });
}

function tipTarget(node: EventTarget | null, look: Look, current: TipTarget | null): TipTarget | null {
  if (!(node instanceof Element)) return null;
  if (node.closest(".tip")) return current;
  const link = node.closest("a");
  if (!link || link.closest(".cover") || !link.closest("[data-turn]")) return null;
  if (link === current?.link) return current;
  const message = messageOf(link, look);
  const source = sourceOf(link, message, look);
  return source ? { link, source, ...quotesOf(message, source, link) } : null;
}
