/** What a route answers: a status, a body that its schema parses, and headers of its own. */
export type Reply = { status: number; body: unknown; headers: Record<string, string> };

const replies = new WeakSet<object>();

/** Answers with another status than the first one declared, or with headers. `null` is an empty body. */
export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  const made = { status, body, headers };
  replies.add(made);
  return made;
}

/** Whether a handler's result was made by `reply`. */
export function isReply(value: unknown): value is Reply {
  return typeof value === "object" && value !== null && replies.has(value);
}
