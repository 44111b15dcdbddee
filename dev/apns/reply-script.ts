import type { Reply } from "./fake-server";

const MAX_COUNT = 1_000_000;

/** The reason that APNs gives with a status where nothing else is said. */
const REASONS: Record<string, string> = {
  400: "BadDeviceToken",
  403: "InvalidProviderToken",
  410: "Unregistered",
  413: "PayloadTooLarge",
  429: "TooManyRequests",
  500: "InternalServerError",
  503: "ServiceUnavailable",
};
const WORDS: Record<string, Reply> = {
  goaway: "goaway",
  silence: "silence",
  hangup: "hang up",
};

export const REPLY_HELP = `Type an answer, and the next push gets it:

  ${Object.keys(REASONS).join(" | ")} | ${Object.keys(WORDS).join(" | ")}   [COUNT] [reason=REASON] [retry-after=SECONDS]

"503 5 retry-after=30" answers the next five so; "ok" takes back what is still to come.`;

type ScriptedReply = { make: () => Reply; count: number };

/** What a line asks for: an answer to so many pushes. null: the line cannot be read. */
function parseReply(line: string): ScriptedReply | null {
  const [name = "", ...rest] = line.split(/\s+/);
  const [counts, settings] = [rest.filter((each) => !each.includes("=")), rest.filter((each) => each.includes("="))];
  const { reason, "retry-after": retryAfter, ...others } = Object.fromEntries(settings.map((each) => each.split("=")));
  const count = Number(counts[0] ?? 1);
  const isCount = Number.isInteger(count) && count >= 1 && count <= MAX_COUNT;
  if (!isCount || counts.length > 1 || Object.keys(others).length > 0) return null;
  const word = WORDS[name];
  if (word !== undefined) return settings.length === 0 ? { make: () => word, count } : null;
  const usual = REASONS[name];
  if (usual === undefined) return null;
  const status = Number(name);
  // The time of the answer: a device that has registered since would stay.
  const timestamp = () => (status === 410 ? Date.now() : undefined);
  return { make: () => ({ status, reason: reason ?? usual, retryAfter, timestamp: timestamp() }), count };
}

/** Answers 200, or as lines have told it. `take` returns what a line came to, in words. */
export function createReplyScript() {
  let orders: ScriptedReply[] = [];
  return {
    take: (given: string): string => {
      const line = given.trim();
      if (line.toLowerCase() === "ok") {
        orders = [];
        return "Every push is answered 200.";
      }
      const order = parseReply(line);
      if (!order) return REPLY_HELP;
      orders.push(order);
      return `The next ${order.count === 1 ? "push is" : `${order.count} pushes are`} answered so: ${line}`;
    },
    next: (): Reply => {
      const [order] = orders;
      if (!order) return { status: 200 };
      order.count -= 1;
      if (order.count === 0) orders.shift();
      return order.make();
    },
  };
}
