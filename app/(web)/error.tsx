"use client";

/** Shown when rendering a page fails. The error itself is logged. */
export default function PageError() {
  return (
    <>
      <h1>Something went wrong</h1>
      <p className="lead">This is a problem on our side. Try again in a moment.</p>
      <p>
        <button type="button" onClick={() => window.location.reload()}>
          Try again
        </button>
      </p>
      <p>
        <a href="/">Go to the home page</a>
      </p>
    </>
  );
}
