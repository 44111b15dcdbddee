import type { Answer } from "./answer";

/** What a handler answers beside a plain value: another status or headers, or a body that is ready to be sent. */
export type Reply = { status: number; headers: Answer["headers"] } & (
  | { kind: "value"; value: unknown }
  | { kind: "ready"; body: Answer["body"] }
);

const replies = new WeakSet<object>();

/** Answers with a status, a value for that status's schema, and headers. */
export function reply(status: number, value: unknown, headers: Answer["headers"] = {}): Reply {
  return remember({ kind: "value", status, value, headers });
}

/** Answers with a body as it is: text or bytes whose headers are complete, `Content-Length` included. */
export function ready({ status, headers, body }: Answer): Reply {
  return remember({ kind: "ready", status, body, headers });
}

/** Whether a handler's result was made by `reply` or `ready`. */
export function isReply(value: unknown): value is Reply {
  return typeof value === "object" && value !== null && replies.has(value);
}

function remember(made: Reply): Reply {
  replies.add(made);
  return made;
}
