import { AppError } from "@/lib/errors";
import { matchesStrongly } from "@/lib/platform/http/content/conditional";
import { type RequestHead, RouteResponse } from "@/lib/platform/http-message";
import type { Precondition } from "@/lib/platform/precondition";

/** A response with the state that a change may require, as its `ETag`. */
export function withState(body: unknown, state: string): RouteResponse<unknown> {
  return new RouteResponse(200, body, { ETag: quoted(state) });
}

/** The response to a change, or to its dry run, which has a state. */
export function withSeenState<T>({ result, state }: { result: T; state: string | null }) {
  return state === null ? result : withState(result, state);
}

/** `If-Match` of a change: the `ETag` of what the caller has seen, such as a preview. undefined: anything may have changed. */
export function ifMatch({ headers }: RequestHead): Precondition | undefined {
  const given = headers.get("if-match");
  if (given === null) return undefined;
  const check = (state: string) => {
    if (matchesStrongly(given, quoted(state))) return;
    const detail = "Something has changed since: read or preview it again.";
    throw new AppError("precondition_failed", { detail, headers: { ETag: quoted(state) } });
  };
  return { check };
}

const quoted = (state: string) => `"${state}"`;
