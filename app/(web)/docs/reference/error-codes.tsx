"use client";

/** The errors that an operation responds with, each with a link to its explanation. */
export function ErrorCodes({ errors }: { errors: readonly (readonly [status: string, code: string])[] }) {
  return (
    <ul className="error-codes" aria-label="Errors">
      {errors.map(([status, code]) => (
        <li key={code}>
          {status}{" "}
          <a href={`/docs/errors#${code}`}>
            <code>{code}</code>
          </a>
        </li>
      ))}
    </ul>
  );
}
