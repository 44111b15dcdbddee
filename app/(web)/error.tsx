"use client";

/** A page that failed. The log has the reason; visitors are told what they can do. */
export default function PageError() {
  return (
    <>
      <h1>Something went wrong on our side</h1>
      <p className="lead">It is not your fault. Try again in a moment.</p>
      <p>
        <button type="button" onClick={() => window.location.reload()}>
          Try again
        </button>
      </p>
      <p>
        <a href="/">To the start page</a>
      </p>
    </>
  );
}
