import { setTimeout as delay } from "node:timers/promises";
import { CodedError } from "../../command-line";
import type { CommandContext } from "../command";
import { printable } from "../output/output";
import type { ResultOf } from "./operations";

/** How often in a row a command waits for the provider, and for how long at most. */
const MAX_WAITS = 5;
const MAX_WAIT_SECONDS = 300;

/** Waits as long as the provider asks for. @throws Error if it still does after several times */
export async function waitFor(
  { output }: CommandContext,
  { appUserId, afterSeconds }: NonNullable<ResultOf<"reconcilePurchases">["retry"]>,
  waits: number,
) {
  if (waits >= MAX_WAITS)
    throw new CodedError("rate_limited", `${appUserId}: the provider limits requests. Try again later.`);
  const seconds = Math.min(afterSeconds, MAX_WAIT_SECONDS);
  output.note(printable(`${appUserId}: the provider limits requests. Retrying in ${seconds} s.`));
  await delay(seconds * 1000);
}
