import type { Reply } from "./fake-server";

const MAX_COUNT = 1_000_000;

/** The default reason of each status. */
const REASONS: Record<string, string> = {
  400: "BadDeviceToken",
  403: "InvalidProviderToken",
  410: "Unregistered",
  413: "PayloadTooLarge",
  429: "TooManyRequests",
  500: "InternalServerError",
  503: "ServiceUnavailable",
};
const CONNECTION_REPLIES: Record<string, Reply> = { goaway: "goaway", silence: "silence", hangup: "hang up" };

export const REPLY_HELP = `Type a reply for the next push:

  ${Object.keys(REASONS).join(" | ")} | ${Object.keys(CONNECTION_REPLIES).join(" | ")}   [COUNT] [reason=REASON] [retry-after=SECONDS]

"503 5 retry-after=30" is the reply to the next five pushes. "ok" discards the replies still to come.`;

type ScriptedReply = { create: () => Reply; count: number };

/** Parses a line; null if it is invalid. */
function parseReply(line: string): ScriptedReply | null {
  const [name = "", ...rest] = line.split(/\s+/);
  const [counts, settings] = [rest.filter((each) => !each.includes("=")), rest.filter((each) => each.includes("="))];
  const { reason, "retry-after": retryAfter, ...others } = Object.fromEntries(settings.map((each) => each.split("=")));
  const count = Number(counts[0] ?? 1);
  const isCount = Number.isInteger(count) && count >= 1 && count <= MAX_COUNT;
  if (!isCount || counts.length > 1 || Object.keys(others).length > 0) return null;
  const connectionReply = CONNECTION_REPLIES[name];
  if (connectionReply !== undefined) return settings.length === 0 ? { create: () => connectionReply, count } : null;
  const defaultReason = REASONS[name];
  if (defaultReason === undefined) return null;
  const status = Number(name);
  // The time of the reply: devices that register later stay valid.
  const timestamp = () => (status === 410 ? Date.now() : undefined);
  return { create: () => ({ status, reason: reason ?? defaultReason, retryAfter, timestamp: timestamp() }), count };
}

/** Creates the replies of the fake server: 200, unless a line adds others. `add` returns a message for the terminal. */
export function createReplyScript() {
  let replies: ScriptedReply[] = [];
  return {
    add: (input: string): string => {
      const line = input.trim();
      if (line.toLowerCase() === "ok") {
        replies = [];
        return "The reply to every push is 200.";
      }
      const reply = parseReply(line);
      if (!reply) return REPLY_HELP;
      replies.push(reply);
      return `The reply to the next ${reply.count === 1 ? "push" : `${reply.count} pushes`}: ${line}`;
    },
    next: (): Reply => {
      const [reply] = replies;
      if (!reply) return { status: 200 };
      reply.count -= 1;
      if (reply.count === 0) replies.shift();
      return reply.create();
    },
  };
}
