// One question and what became of it, in every state it can have.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Message } from "./state.ts";
import { answerForClipboard, copy, spokenAnswer, words } from "./copying.ts";
import type { Failure } from "./failures.ts";
import { Person } from "./person.tsx";
import { ArticleLink, IconButton, Text, type Surroundings } from "./parts.tsx";
import { direction, fill, formatDate, languageName, plural, primary } from "./strings.ts";
import { shownSources, type Rating, type Source, type Step, type Turn } from "./wire.ts";

interface Props {
  around: Surroundings;
  message: Message;
  last: boolean;
}

export function Exchange({ around, message, last }: Props) {
  const { turn, phase } = message;
  const { strings } = around;
  const status = phase === "ended" ? turn.status : "running";
  return (
    <>
      <h3 class="asked" part="message user" dir="auto">
        <span class="unseen" dir={direction(around.language)}>{strings.you}: </span>
        {turn.question}
      </h3>
      <div class="answer" part="message assistant" data-turn={message.key} data-status={status} aria-busy={phase !== "ended"} lang={turn.language} dir={turn.language ? direction(turn.language) : "auto"}>
        {phase !== "ended" && <Steps around={around} message={message} />}
        {status === "insufficient" ? (
          <Insufficient around={around} message={message} />
        ) : status === "evidence" ? (
          <Excerpts around={around} message={message} />
        ) : (
          <Text message={message} server={around.server} />
        )}
        {phase === "ended" && <Ending around={around} message={message} last={last} />}
      </div>
    </>
  );
}

function stepText(step: Step, { strings }: Surroundings): string {
  const titles = (step.articles ?? []).map((article) => article.title).filter(Boolean);
  const query = step.input?.["query"];
  if (step.tool === "get_document" && titles.length) return fill(strings.reading, titles.join(", "));
  if (step.tool === "list_articles") return strings.listing;
  return typeof query === "string" && query ? fill(strings.searching, query) : strings.working;
}

function Steps({ around, message }: { around: Surroundings; message: Message }) {
  const { strings } = around;
  const recent = message.steps.slice(-3).map((step) => stepText(step, around));
  if (message.phase === "reconnecting") recent.push(strings.reconnecting);
  else if (!recent.length) recent.push(strings.working);
  return (
    <ul class="steps">
      {recent.map((text, index) => (
        <li key={index} dir="auto">
          {text}
        </li>
      ))}
    </ul>
  );
}

function Insufficient({ around, message }: { around: Surroundings; message: Message }) {
  const { strings, server } = around;
  const { suggestions = [], missing_information = [] } = message.turn;
  return (
    <div class="box calm">
      <h4>{strings.unanswered}</h4>
      <Text message={message} server={server} />
      <Missing around={around} sentences={missing_information} />
      {suggestions.length > 0 && <Topics around={around} topics={suggestions} />}
      <Person around={around} />
    </div>
  );
}

function Missing({ around, sentences }: { around: Surroundings; sentences: string[] }) {
  if (!sentences.length) return null;
  return (
    <div class="small">
      <p>{around.strings.missing}:</p>
      <ul>
        {sentences.map((sentence) => (
          <li dir="auto">{sentence}</li>
        ))}
      </ul>
    </div>
  );
}

function Topics({ around, topics }: { around: Surroundings; topics: NonNullable<Turn["suggestions"]> }) {
  return (
    <div class="near">
      <p class="small">{around.strings.topics}:</p>
      <ul class="topics" aria-label={around.strings.topics}>
        {topics.map((topic) => (
          <li key={topic.id}>
            <ArticleLink id={topic.id} url={topic.url} server={around.server}>
              {topic.title}
            </ArticleLink>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Excerpts({ around, message }: { around: Surroundings; message: Message }) {
  const { strings, server } = around;
  return (
    <div class="box excerpts">
      <h4>{strings.excerpts}</h4>
      <Text message={message} server={server} />
      {(message.turn.evidence ?? []).map((item, index) => (
        <figure key={index}>
          <blockquote dir="auto">{words(item.quote)}</blockquote>
          <figcaption class="small" data-quote={item.quote} data-section={item.section}>
            <ArticleLink id={item.source_id} url={item.url} server={server}>
              {item.title}
            </ArticleLink>
            {item.section ? ` › ${item.section}` : ""}
          </figcaption>
        </figure>
      ))}
      <Person around={around} />
    </div>
  );
}

function Ending({ around, message, last }: Props) {
  const { turn, failure } = message;
  const { strings } = around;
  const answered = turn.status === "answered";
  if (failure) return <Failed around={around} message={message} failure={failure} />;
  return (
    <>
      {(turn.conflicts ?? []).map((conflict, index) => (
        <Sides key={index} around={around} turn={turn} conflict={conflict} />
      ))}
      {answered && <Missing around={around} sentences={turn.missing_information ?? []} />}
      {turn.kind === "clarification" && (turn.suggestions ?? []).length > 0 && <Topics around={around} topics={turn.suggestions!} />}
      {turn.truncated && <p class="small">{strings.truncated}</p>}
      {(turn.status === "stopped" || turn.status === "interrupted" || turn.status === "failed") && (
        <p class="small">{strings[turn.status]}</p>
      )}
      <Sources around={around} turn={turn} />
      {around.notice && turn.kind !== "smalltalk" && turn.answer && <p class="small">{around.notice}</p>}
      <Actions around={around} message={message} last={last} />
    </>
  );
}

function Sides({ around, turn, conflict }: { around: Surroundings; turn: Turn; conflict: NonNullable<Turn["conflicts"]>[number] }) {
  const { strings, language, server } = around;
  return (
    <div class="box conflict">
      <h4>
        {strings.conflict}: {conflict.topic}
      </h4>
      <div class="sides">
        {conflict.positions.map((position, index) => {
          const source = turn.sources?.find((each) => each.id === position.source_id);
          return (
            <figure key={index}>
              <blockquote dir="auto">{words(position.quote)}</blockquote>
              <figcaption class="small" data-quote={position.quote} data-section={position.location}>
                <ArticleLink id={position.source_id} url={source?.url} server={server}>
                  {source?.title ?? position.source_id}
                </ArticleLink>
                {position.updated_at && <> · {fill(strings.updated, formatDate(position.updated_at, language))}</>}
              </figcaption>
            </figure>
          );
        })}
      </div>
      {conflict.criterion && <p class="small">{fill(strings.criterion, conflict.criterion)}</p>}
    </div>
  );
}

function foreign(source: Source, turn: Turn): boolean {
  return Boolean(source.language && turn.language && primary(source.language) !== primary(turn.language));
}

function Sources({ around, turn }: { around: Surroundings; turn: Turn }) {
  const shown = shownSources(turn);
  if (!shown.length) return null;
  const { strings, language, server } = around;
  return (
    <div class="sources" part="sources">
      <span aria-hidden="true">{strings.sources}</span>
      <ul aria-label={strings.sources}>
        {shown.map((source) => (
          <li key={source.id}>
            <ArticleLink id={source.id} url={source.url} server={server} class="chip" part="chip">
              {source.title}
              {foreign(source, turn) && <small> ({fill(strings.inLanguage, languageName(source.language!, language))})</small>}
            </ArticleLink>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The sentence for a failure; what the status line says too. */
export function failureText(failure: Failure, { strings, language, chat }: Surroundings, now: number): string {
  const text = failure.kind === "unreachable" && !chat.state.online ? strings.offline : strings[failure.kind];
  const seconds = Math.ceil((failure.retryAt - now) / 1000);
  return seconds > 0 ? `${text} ${plural(strings.tryIn, seconds, language)}` : text;
}

function Failed({ around, message, failure }: { around: Surroundings; message: Message; failure: Failure }) {
  const now = useSeconds(failure.retryAt);
  const hopeless = failure.kind === "tooLong" || failure.kind === "notAllowed";
  return (
    <div class="box">
      <p class="bad">{failureText(failure, around, now)}</p>
      <div class="row">
        {!hopeless && (
          <button type="button" class="plain" disabled={failure.retryAt > now} onClick={() => void around.chat.retry(message)}>
            {around.strings.retry}
          </button>
        )}
        <Person around={around} />
      </div>
    </div>
  );
}

/** The time, read once a second until then. */
function useSeconds(until: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (until <= Date.now()) return;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (until <= Date.now()) clearInterval(timer);
    }, 1000);
    return () => clearInterval(timer);
  }, [until]);
  return now;
}

function Actions({ around, message, last }: Props) {
  const { strings, chat, root, server } = around;
  const { turn } = message;
  const [copied, setCopied] = useState(false);
  const rating = turn.feedback?.rating;
  const rate = (value: Rating) => void chat.rate(message, value, turn.feedback?.comment ?? "");
  const onCopy = async () => {
    const { text, html } = answerForClipboard(turn, server, strings.sources);
    setCopied(await copy(root, text, html));
  };
  const rateable = Boolean(turn.id) && turn.kind !== "smalltalk" && ["answered", "insufficient", "evidence"].includes(turn.status);
  return (
    <>
      <div class="actions" part="actions">
        {rateable && (
          <>
            <span>{strings.solved}</span>
            <IconButton label={strings.yes} icon="up" aria-pressed={rating === "up"} onClick={() => rate("up")} />
            <IconButton label={strings.no} icon="down" aria-pressed={rating === "down"} onClick={() => rate("down")} />
          </>
        )}
        {turn.answer && <IconButton label={copied ? strings.copied : strings.copy} icon="copy" onClick={() => void onCopy()} />}
        {last && <IconButton label={strings.again} icon="redo" flip onClick={() => void chat.retry(message)} />}
      </div>
      {rateable && rating && <Comment key={rating} around={around} message={message} rating={rating} />}
    </>
  );
}

function Comment({ around, message, rating }: { around: Surroundings; message: Message; rating: Rating }) {
  const { strings, chat } = around;
  const given = message.turn.feedback?.comment ?? "";
  const [comment, setComment] = useState(given);
  const [sent, setSent] = useState(Boolean(given));
  const id = `comment-${message.key}`;
  const form = useRef<HTMLFormElement>(null);
  // after the log has placed its newest question: this is what was asked for now
  useEffect(() => {
    const box = form.current?.closest(".log");
    if (box) box.scrollTop += Math.max(0, form.current!.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom + 10);
  }, []);
  if (sent) return <p class="small">{strings.thanks}</p>;
  const submit = async (event: Event) => {
    event.preventDefault();
    setSent(await chat.rate(message, rating, comment.trim()));
  };
  return (
    <form class="comment" ref={form} onSubmit={(event) => void submit(event)}>
      <label for={id}>{rating === "up" ? strings.commentGood : strings.comment}</label>
      <textarea id={id} rows={2} maxLength={2000} dir="auto" value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
      <div class="row">
        <button type="submit" class="plain">
          {strings.sendComment}
        </button>
        {rating === "down" && <Person around={around} />}
      </div>
    </form>
  );
}

/** What a screen reader is told once an answer is there. */
export function announcement(message: Message, around: Surroundings): string {
  const { strings, language } = around;
  const { turn, failure } = message;
  if (failure) return failureText(failure, around, Date.now());
  const parts = [spokenAnswer(turn)];
  if (turn.status === "evidence") parts.unshift(strings.excerpts);
  if (turn.conflicts?.length) parts.push(strings.conflict);
  if (turn.status === "stopped" || turn.status === "interrupted" || turn.status === "failed") parts.push(strings[turn.status]);
  const count = shownSources(turn).length;
  if (count) parts.push(plural(strings.sourceCount, count, language));
  return parts.filter(Boolean).join("\n");
}
