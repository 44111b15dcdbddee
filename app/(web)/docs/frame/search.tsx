"use client";

import { useId, useState } from "react";

export type SearchEntry = { title: string; text: string; href: string };

const MAX_RESULTS = 12;

/** Searches operations, schemas and error codes by all words that are typed. Works in the browser alone. */
export function Search({ entries }: { entries: SearchEntry[] }) {
  const [query, setQuery] = useState("");
  const id = useId();
  const found = query.trim() === "" ? [] : search(entries, query).slice(0, MAX_RESULTS);
  return (
    <search className="docs-search">
      <label htmlFor={id}>Search the reference</label>
      <input
        id={id}
        type="search"
        value={query}
        placeholder="login, rate_limited"
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") setQuery("");
          if (event.key === "Enter" && found[0]) window.location.assign(found[0].href);
        }}
      />
      <div role="status" className="search-results">
        {query.trim() !== "" && found.length === 0 && <p>Nothing found.</p>}
        {found.length > 0 && (
          <ul>
            {found.map(({ title, text, href }) => (
              <li key={href}>
                <a href={href} onClick={() => setQuery("")}>
                  <code>{title}</code>
                  <span>{text}</span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </div>
    </search>
  );
}

/** The entries that contain every word, those with the words in their title first. */
export function search(entries: readonly SearchEntry[], query: string): SearchEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const contains = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const found = entries.filter(({ title, text }) => contains(`${title} ${text}`));
  return [...found.filter(({ title }) => contains(title)), ...found.filter(({ title }) => !contains(title))];
}
