"use client";

import { type KeyboardEvent, useId, useRef, useSyncExternalStore } from "react";
import type { SampleRequest } from "../samples/request";
import { samplesOf } from "../samples/samples";

/** The language that is shown in every sample of the page. */
let chosen = 0;
const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const choose = (index: number) => {
  chosen = index;
  for (const listener of listeners) listener();
};

/** A request in several languages, one at a time (ARIA Authoring Practices, "Tabs"). Without JavaScript the first one. */
export function Samples({ request }: { request: SampleRequest }) {
  const samples = samplesOf(request);
  const index = useSyncExternalStore(
    subscribe,
    () => chosen,
    () => 0,
  );
  const id = useId();
  const tabs = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    const next = (index + step + samples.length) % samples.length;
    choose(next);
    tabs.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div className="samples">
      <div role="tablist" aria-label="Language" ref={tabs} onKeyDown={move}>
        {samples.map(([language], i) => (
          <button
            key={language}
            type="button"
            role="tab"
            id={`${id}-tab-${i}`}
            aria-selected={i === index}
            aria-controls={`${id}-panel`}
            tabIndex={i === index ? 0 : -1}
            onClick={() => choose(i)}
          >
            {language}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the code scrolls, so the keyboard has to reach it. */}
      <pre role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${index}`} tabIndex={0}>
        <code>{samples[index]?.[1]}</code>
      </pre>
    </div>
  );
}
