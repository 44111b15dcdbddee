import { freeIdempotencyKeys } from "@/lib/platform/http/idempotency";
import { clock, ctx } from "./context";

/** What a process leaves behind that is killed while it processes every request so far. */
export async function leaveUnfinished(): Promise<void> {
  const expiresAt = new Date(clock.now().getTime() + 40_000);
  await ctx().db.idempotentRequest.updateMany({ data: { status: null, body: null, expiresAt } });
}

/** The process is killed after it has made the changes of all requests so far, before it answers, and starts again. */
export async function loseResponses(): Promise<void> {
  await leaveUnfinished();
  await freeIdempotencyKeys(ctx());
}
