// Small pieces that every view uses, and what a view knows of its surroundings.

import type { ComponentChildren, ComponentProps } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Chat } from "./chat.ts";
import type { Message } from "./state.ts";
import { LiveMarkdown } from "./live.ts";
import { Builder } from "./markdown.ts";
import type { Strings } from "./strings.ts";
import { ICONS } from "./styles.ts";
import { safeUrl } from "./urls.ts";
import type { Contact } from "./wire.ts";

export interface Surroundings {
  chat: Chat;
  strings: Strings;
  language: string;
  server: string;
  root: ShadowRoot;
  contact: Contact;
  notice: string;
}

export function Icon({ name, flip }: { name: keyof typeof ICONS; flip?: boolean }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" class={flip ? "flip" : undefined}>
      <path d={ICONS[name]} />
    </svg>
  );
}

type ButtonProps = ComponentProps<"button"> & { label: string; icon: keyof typeof ICONS; flip?: boolean };

export function IconButton({ label, icon, flip = false, ...rest }: ButtonProps) {
  return (
    <button type="button" aria-label={label} title={label} {...rest}>
      <Icon name={icon} flip={flip} />
    </button>
  );
}

/** An answer's text; it grows in place. */
export function Text({ message, server }: { message: Message; server: string }) {
  const host = useRef<HTMLDivElement>(null);
  const live = useRef<LiveMarkdown | null>(null);
  const { answer } = message.turn;
  const ended = message.phase === "ended";
  useLayoutEffect(() => {
    const link = (href: string) => {
      const url = safeUrl(href, server);
      return url ? { href: url } : null;
    };
    live.current ??= new LiveMarkdown(host.current!, new Builder(link));
    live.current.update(answer, ended && message.turn.status !== "stopped");
  }, [answer, ended, server]);
  return <div class="text" ref={host} dir="auto" />;
}

/** A link to an article: in the reader, or, with a modifier key or from the context menu, as a page. */
export function ArticleLink(props: { id: string; url: string | null | undefined; server: string; class?: string; children: ComponentChildren; part?: string }) {
  const { id, url, server, children, ...rest } = props;
  const href = safeUrl(url ?? "", server);
  if (!href) return <span {...rest}>{children}</span>;
  return (
    <a {...rest} href={href} target="_blank" rel="noopener noreferrer" data-article={id}>
      {children}
    </a>
  );
}
