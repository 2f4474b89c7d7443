// The reader: an article beside its conversation, open at the quoted place.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Reading } from "./state.ts";
import { highlight } from "./highlight.ts";
import { htmlToDom } from "./html.ts";
import { Builder, type LinkRule } from "./markdown.ts";
import { IconButton, type Surroundings } from "./parts.tsx";
import { fill, formatDate } from "./strings.ts";
import { safeUrl } from "./urls.ts";
import type { Article } from "./wire.ts";

/** The id of an article of the help centre itself, by the address of its page. */
export function articleOf(href: string, server: string): string | undefined {
  try {
    const url = new URL(href);
    const id = /^\/articles\/([^/]+)\/?$/.exec(url.pathname)?.[1];
    return id && url.origin === new URL(server).origin ? decodeURIComponent(id) : undefined;
  } catch {
    return undefined;
  }
}

function render(article: Article, server: string): DocumentFragment {
  const link: LinkRule = (href) => {
    const url = safeUrl(href, server);
    return url ? { href: url, article: articleOf(url, server) } : null;
  };
  const made = article.html === undefined ? new Builder(link, 3).markdown(article.body ?? "") : htmlToDom(article.html, link, server);
  const first = made.firstElementChild;
  if (first && /^H\d$/.test(first.tagName) && first.textContent.trim() === article.title.trim()) first.remove();
  return made;
}

/** Scrolls only its own container: `scrollIntoView` would move the visitor's page too. */
function reveal(container: HTMLElement, target: Element): void {
  const top = target.getBoundingClientRect().top - container.getBoundingClientRect().top;
  container.scrollTop += top - container.clientHeight / 4;
}

export function Reader({ around, reading }: { around: Surroundings; reading: Reading }) {
  const { strings, server, language, chat } = around;
  const back = useRef<HTMLDivElement>(null);
  const page = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const [gone, setGone] = useState(false);
  const { article, quotes, section } = reading;
  useLayoutEffect(() => back.current!.querySelector("button")!.focus(), []);
  useLayoutEffect(() => {
    if (!article) return;
    body.current!.replaceChildren(render(article, server));
    const marks = quotes.map((quote) => highlight(body.current!, quote, section));
    const target = marks.find(Boolean) ?? (section && !quotes.length ? highlight(body.current!, "", section) : null);
    setGone(quotes.length > 0 && !marks.some((mark) => mark?.tagName === "MARK"));
    if (target) reveal(page.current!, target);
  }, [article]);
  const url = safeUrl(article?.url ?? "", server);
  return (
    <section class="cover" part="reader" aria-labelledby="refdesk-article">
      <div class="bar article" ref={back}>
        <IconButton label={strings.back} icon="back" flip onClick={() => chat.closeReader()} />
        <h2 id="refdesk-article" dir="auto">
          {article?.title ?? (reading.missing ? strings.noArticle : strings.loading)}
        </h2>
      </div>
      <div class="page" ref={page} tabIndex={0} role="group" aria-labelledby="refdesk-article">
        {article && (
          <p class="small">
            {article.updated_at && `${fill(strings.updated, formatDate(article.updated_at, language))} · `}
            {url && (
              <a href={url} target="_blank" rel="noopener noreferrer" data-page="">
                {strings.fullPage}
              </a>
            )}
          </p>
        )}
        {gone && <p class="box small">{strings.quoteGone}</p>}
        <div class="text" ref={body} dir="auto" lang={article?.language} />
      </div>
    </section>
  );
}
