"use client";

import { type FormEvent, useEffect, useId, useRef, useState } from "react";

type Found = { id: string; email: string; name: string | null };

/** Requests wait until nobody has typed for so long. */
const PAUSE_MS = 150;
const MAX_FOUND = 8;

/**
 * The search of the list of accounts. With JavaScript it shows the first matches as one types; the form that it is in shows
 * all of them, without JavaScript too.
 */
export function SearchField({ value = "" }: { value: string | undefined }) {
  const id = useId();
  const [found, setFound] = useState<Found[] | null>(null);
  const pending = useRef<AbortController>(null);
  useEffect(() => () => pending.current?.abort(), []);

  const search = async ({ currentTarget: input }: FormEvent<HTMLInputElement>) => {
    pending.current?.abort();
    const request = new AbortController();
    pending.current = request;
    const query = input.value.trim();
    if (query === "") return setFound(null);
    await new Promise((resume) => setTimeout(resume, PAUSE_MS));
    if (request.signal.aborted) return;
    const matches = await findAccounts(query, input.form, request.signal);
    if (!request.signal.aborted) setFound(matches);
  };

  return (
    <div className="filter search">
      <label htmlFor={id}>Search</label>
      <input
        id={id}
        name="query"
        type="search"
        defaultValue={value}
        placeholder="ann@example.com"
        maxLength={254}
        autoComplete="off"
        spellCheck={false}
        onInput={search}
        onKeyDown={({ key }) => key === "Escape" && setFound(null)}
      />
      <p className="visually-hidden" role="status">
        {found && describeCount(found.length)}
      </p>
      {found && found.length > 0 && (
        <ul className="matches" aria-label="Matches">
          {found.map(({ id, email, name }) => (
            <li key={id}>
              <a href={`/console/accounts/${id}`}>
                {email} {name && <bdi className="muted">{name}</bdi>}
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function describeCount(count: number): string {
  if (count === 0) return "No account matches";
  return count === 1 ? "1 account found" : `${count} accounts found`;
}

/** The value of a filter. Times are entered in UTC, without an offset, and without seconds if there are none. */
const inUtc = (value: string) => (/^\d{4}-\d\d-\d\dT[\d:]+$/.test(value) ? new Date(`${value}Z`).toISOString() : value);

/** The first matches; null if there is no answer. The form's other filters apply. */
async function findAccounts(query: string, form: HTMLFormElement | null, signal: AbortSignal): Promise<Found[] | null> {
  const params = new URLSearchParams({ limit: String(MAX_FOUND) });
  for (const [name, value] of form ? new FormData(form) : []) if (value !== "") params.set(name, inUtc(String(value)));
  params.set("query", query);
  try {
    const response = await fetch(`/api/admin/accounts?${params}`, { signal, redirect: "error" });
    return response.ok ? ((await response.json()) as { accounts: Found[] }).accounts : null;
  } catch {
    return null;
  }
}
