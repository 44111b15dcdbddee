/** The response has another status than expected. */
export class UnexpectedStatusError extends Error {
  constructor(
    expected: number[],
    readonly status: number,
    body: string,
  ) {
    super(`expected ${expected.join(" or ")}, got ${status}: ${describeProblem(body)}`);
  }
}

/** A problem document's code and text (RFC 9457); any other body as it is. */
function describeProblem(body: string): string {
  try {
    const { code, title, detail } = JSON.parse(body);
    return code ? [code, title, detail].filter(Boolean).join(". ") : body;
  } catch {
    return body;
  }
}

/**
 * Returns a function that sends a request to `base`, prints it with its response, and checks the status.
 * The function throws UnexpectedStatusError for another status than `expected`.
 */
export function createRequest(base: string) {
  return async (expected: number | number[], method: string, path: string, init: RequestInit = {}) => {
    const response = await fetch(`${base}${path}`, { method, redirect: "manual", ...init }).catch((error: Error) => {
      throw new Error(`${base} is not reachable (${error.cause ?? error}). Is it running? npm start`);
    });
    const length = response.headers.get("content-length");
    const etag = response.headers.get("etag");
    const details = [response.headers.get("content-range"), etag && `${etag.slice(0, 14)}…"`];
    const headers = [length && `${length} bytes`, ...details].filter(Boolean).join(", ");
    const shown = path.length > 70 ? `${path.slice(0, 69)}…` : path;
    console.log(`  ${method} ${shown} -> ${response.status} ${headers}`.trimEnd());
    const statuses = [expected].flat();
    if (!statuses.includes(response.status)) {
      throw new UnexpectedStatusError(statuses, response.status, await response.text());
    }
    return response;
  };
}

/** A request with a JSON body. */
export const jsonBody = (json: unknown, headers: Record<string, string> = {}): RequestInit => ({
  body: JSON.stringify(json),
  headers: { "content-type": "application/json", ...headers },
});
