"use client";

import { type FormEvent, useEffect, useRef } from "react";

/** What `displayedPrefix` shows of an API key. A whole key in a URL would be revoked. */
const KEY = /\b(hp_[0-9A-Za-z]{4})[0-9A-Za-z]{45}\b/g;

/** The search of everything. The key `/` moves the cursor into it, if nothing is being typed. */
export function FindField({ value }: { value: string }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  const withoutKeys = ({ currentTarget }: FormEvent<HTMLInputElement>) => {
    currentTarget.value = currentTarget.value.replace(KEY, "$1");
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers of 2022 do not know <search>.
    <form className="find" action="/console/search" role="search">
      <input
        ref={input}
        name="query"
        type="search"
        aria-label="Find anything"
        aria-keyshortcuts="/"
        placeholder="Email, name, order, any ID   /"
        defaultValue={value}
        maxLength={1024}
        autoComplete="off"
        spellCheck={false}
        onInput={withoutKeys}
      />
      <button type="submit" className="quiet">
        Find
      </button>
    </form>
  );
}

/** Whether keys go to a field, or to a dialog that is open. */
function isTyping(target: EventTarget | null): boolean {
  const isField =
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
  return isField || document.querySelector(".dialog:popover-open") !== null;
}
