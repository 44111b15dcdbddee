"use client";

import { type FormEvent, useEffect, useId, useRef, useState } from "react";

type TryItParameter = { name: string; in: string; required: boolean; example: string };

type Props = {
  method: string;
  path: string;
  parameters: TryItParameter[];
  /** The body to start with, and its media type. */
  body?: { mediaType: string; text: string };
};
type Shown = { status: string; ms: number; text: string };

/** Sends a request with the visitor's own session to this service, and shows the response. */
export function TryIt({ method, path, parameters, body }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState<Shown>();
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => setOpen(details.current?.open ?? false), []); // it may have been opened before this script ran
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setShown(await request(method, path, parameters, body?.mediaType, new FormData(event.currentTarget)));
    setBusy(false);
  };
  return (
    <details ref={details} className="try-it" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Try it</summary>
      {isOpen && (
        <form onSubmit={send} aria-busy={isBusy}>
          <p className="hint">
            {method === "GET"
              ? "The request is sent to this service with your own session, if you are signed in."
              : "The request is sent to this service with your own session and changes your real data."}
          </p>
          {parameters.map((parameter, i) => (
            <div className="field" key={`${parameter.in} ${parameter.name}`}>
              <label htmlFor={`${id}-${i}`}>
                {parameter.name} <span className="tag">{parameter.in}</span>
              </label>
              <input
                id={`${id}-${i}`}
                name={`${parameter.in} ${parameter.name}`}
                defaultValue={parameter.required ? parameter.example : ""}
                placeholder={parameter.example}
                required={parameter.required}
                autoComplete="off"
                spellCheck={false}
              />
            </div>
          ))}
          {body && (
            <div className="field">
              <label htmlFor={`${id}-body`}>Body</label>
              <textarea id={`${id}-body`} name="body" defaultValue={body.text} rows={8} spellCheck={false} />
            </div>
          )}
          <button type="submit">Send</button>
        </form>
      )}
      <div role="status">
        {shown && (
          <>
            <p>
              <strong>{shown.status}</strong> <span className="aside">{shown.ms} ms</span>
            </p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls, so the keyboard has to reach it. */}
            <pre tabIndex={0}>{shown.text}</pre>
          </>
        )}
      </div>
    </details>
  );
}

const MAX_SHOWN_CHARACTERS = 50_000;

async function request(
  method: string,
  path: string,
  parameters: TryItParameter[],
  mediaType: string | undefined,
  form: FormData,
): Promise<Shown> {
  const given = parameters
    .map(({ name, in: place }) => ({ name, place, value: String(form.get(`${place} ${name}`)) }))
    .filter(({ value }) => value !== "");
  const pairsIn = (place: string) =>
    given.filter((one) => one.place === place).map(({ name, value }) => [name, value] as [string, string]);
  const filled = pairsIn("path").reduce(
    (url, [name, value]) => url.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const search = new URLSearchParams(pairsIn("query")).toString();
  const headers = [...pairsIn("header"), ...(mediaType ? [["content-type", mediaType] as [string, string]] : [])];
  const startedMs = performance.now();
  try {
    const body = mediaType ? String(form.get("body")) : null;
    const response = await fetch(search ? `${filled}?${search}` : filled, {
      method,
      headers,
      body,
      redirect: "manual",
    });
    const ms = Math.round(performance.now() - startedMs);
    if (response.type === "opaqueredirect") return { status: "Redirect", ms, text: "The response is a redirect." };
    return { status: `${response.status} ${response.statusText}`, ms, text: shown(await response.text()) };
  } catch (error) {
    return { status: "No response", ms: Math.round(performance.now() - startedMs), text: String(error) };
  }
}

/** JSON is indented. */
function shown(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, MAX_SHOWN_CHARACTERS);
  } catch {
    return text.slice(0, MAX_SHOWN_CHARACTERS) || "(no body)";
  }
}
