import { jwtVerify } from "jose";
import { z } from "zod";
import { lockAccount } from "../../auth/account-checks";
import { setEmailProblem } from "../../auth/email-problem";
import { providerKeys } from "../../auth/sign-in-providers/provider-keys";
import type { Context, Tx } from "../../context";
import { AppError, isAppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { Email } from "../../platform/email";
import type { Caller } from "../../principal";
import { revokeSessionsInTx } from "../sessions";
import { countSignInMethods } from "./identities";

type Deps = Pick<Context, "config" | "db" | "emails" | "log" | "now" | "removeDevices">;

export const AppleNotification = z.object({ payload: z.string().max(8_192).describe("A JWT that Apple has signed.") });

/** Apple writes seconds in its documentation, and sends milliseconds. */
const EventTime = z
  .number()
  .positive()
  .max(8.64e15)
  .transform((time) => new Date(time < 1e11 ? time * 1_000 : time));

/** Apple, "Processing changes for Sign in with Apple accounts". `email`: in the events about forwarding. */
const AppleEvent = z.object({
  type: z.string(),
  sub: z.string().min(1).max(255),
  event_time: EventTime,
  email: Email.optional().catch(undefined),
});
type AppleEvent = z.infer<typeof AppleEvent>;

/** The `events` claim is JSON in a string. */
const Claims = z.object({
  events: z
    .string()
    .transform((text, check) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        check.addIssue("Must be JSON");
        return z.NEVER;
      }
    })
    .pipe(AppleEvent),
});

const CLOCK_TOLERANCE_SECONDS = 60;

/**
 * Applies a notification of Apple about an account that signs in with it. It may come twice, late, and in any order: an event
 * from before the identity was linked, or from before a later one about the email, changes nothing.
 * @throws AppError webhook_not_configured, webhook_unauthorized, validation_failed, provider_unavailable
 */
export async function receiveAppleNotification(ctx: Deps, token: string, caller: Caller): Promise<void> {
  const event = await verifyNotification(ctx, token);
  const where = { provider: "apple", subject: event.sub, issuer: ctx.config.AUTH_APPLE_ISSUER };
  const identity = await ctx.db.identity.findFirst({
    where: { OR: [where, { ...where, issuer: null }], createdAt: { lt: event.event_time } },
    select: { id: true, accountId: true },
  });
  if (!identity) return;
  await ctx.db.$transaction(async (tx) => {
    if ((await lockAccount(tx, identity.accountId)) === undefined) return;
    await applyEvent(ctx, tx, identity, event, caller);
  });
  ctx.emails.wake();
}

async function verifyNotification(deps: Deps, token: string): Promise<AppleEvent> {
  const { config, now } = deps;
  const { AUTH_APPLE_ID, AUTH_APPLE_NATIVE_IDS, AUTH_APPLE_ISSUER: issuer } = config;
  const audience = [...(AUTH_APPLE_ID ? [AUTH_APPLE_ID] : []), ...AUTH_APPLE_NATIVE_IDS];
  if (audience.length === 0) throw new AppError("webhook_not_configured");
  const { payload } = await jwtVerify(token, providerKeys(deps, issuer), {
    algorithms: ["RS256"],
    issuer,
    audience,
    currentDate: now(),
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ["iat"],
  }).catch((cause: unknown) => {
    throw isAppError(cause) ? cause : new AppError("webhook_unauthorized", { cause });
  });
  const { data, error } = Claims.safeParse(payload);
  if (!data)
    throw new AppError("validation_failed", {
      detail: "The events of the notification are not as documented.",
      cause: error,
    });
  return data.events;
}

type Identity = { id: string; accountId: string };

async function applyEvent(ctx: Deps, tx: Tx, identity: Identity, event: AppleEvent, caller: Caller): Promise<void> {
  switch (event.type) {
    case "consent-revoked":
    case "account-delete": // in Apple's notifications
    case "account-deleted": // in Apple's documentation
      return unlink(ctx, tx, identity, event, caller);
    case "email-disabled":
    case "email-enabled":
      return changeForwarding(ctx, tx, identity, event, caller);
    default:
      ctx.log.warn({ type: event.type }, "Apple has sent a notification of an unknown type");
  }
}

/**
 * Removes the identity, whose tokens Apple has ended, and the sessions that began with a provider. An account without another
 * way to sign in is kept: its owner can come back by the email.
 */
async function unlink(ctx: Deps, tx: Tx, { id, accountId }: Identity, { type }: AppleEvent, caller: Caller) {
  const { email, count: ways } = await countSignInMethods(tx, accountId);
  const { count } = await tx.identity.deleteMany({ where: { id } });
  if (count === 0) return; // by a concurrent delivery
  const actor = "service";
  const details = { provider: "apple", event: type };
  await recordSecurityEvent(tx, ctx.now(), accountId, "identity_unlinked", caller, { actor, details });
  await revokeSessionsInTx(ctx, tx, { accountId, revokedAt: null, amr: { has: "fed" } }, caller, { actor });
  if (ways > 1) await ctx.emails.enqueue(tx, "identity_unlinked", email, { provider: "apple", byProvider: true });
}

async function changeForwarding(ctx: Deps, tx: Tx, { accountId: id }: Identity, event: AppleEvent, caller: Caller) {
  const { email, type, event_time: at } = event;
  const problem = type === "email-disabled" ? "forwarding_off" : null;
  if (email === undefined || !(await setEmailProblem(tx, { id, email }, problem, { at, by: "owner" }))) return;
  const label = problem ? "email_forwarding_disabled" : "email_forwarding_enabled";
  await recordSecurityEvent(tx, ctx.now(), id, label, caller, { actor: "service", details: { provider: "apple" } });
}
