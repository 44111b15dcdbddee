"use client";

/** Shown when a page of the console fails. The error itself is logged. */
export default function ConsoleError() {
  return (
    <main id="content" className="console-failure">
      <h1>This page could not be loaded</h1>
      <p>The error is in the service’s log. Nothing was changed.</p>
      <p className="buttons">
        <button type="button" onClick={() => window.location.reload()}>
          Try again
        </button>
        <a href="/console">Overview</a>
      </p>
    </main>
  );
}
