import { type EmailProblem, setEmailProblem } from "../../auth/email-problem";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { AuditEventType } from "../../platform/audit/event-types";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { parseJson } from "../../platform/http/body";
import { isSigned, matchesAny } from "../../platform/webhook-signatures";
import type { Caller } from "../../principal";
import { type EmailEvent, readPostmark, readResend, readSes } from "./read-events";
import { readSnsMessage } from "./sns";

type Deps = Pick<Context, "config" | "db" | "fetchText" | "log" | "now">;

type Delivery = { raw: Uint8Array; headers: { get: (name: string) => string | null } };

/** What each report makes of the email of an account, and the event in the account's trail. */
const EFFECTS: Record<
  EmailEvent["report"],
  { problem: EmailProblem | null; by: "owner" | "mail_server"; event: AuditEventType }
> = {
  bounced: { problem: "bounced", by: "mail_server", event: "email_bounced" },
  complained: { problem: "complained", by: "owner", event: "email_complained" },
  delivered: { problem: null, by: "mail_server", event: "email_reachable" },
  allowed: { problem: null, by: "owner", event: "email_reachable" },
};

/**
 * Receives what the provider that sends the service's emails reports about them, and marks the accounts whose emails bounce or
 * were reported as spam. Deliveries may be repeated, late and out of order: the latest report counts.
 * @throws AppError webhook_not_configured, webhook_unauthorized, malformed_json, validation_failed, provider_unavailable
 */
export async function receiveEmailEvents(ctx: Deps, delivery: Delivery, caller: Caller): Promise<void> {
  const events = await readEvents(ctx, delivery);
  const now = ctx.now();
  for (const { email, report, at: text } of events) {
    const { problem, by, event } = EFFECTS[report];
    const reported = Date.parse(text);
    const at = reported > 0 && reported < now.getTime() ? new Date(reported) : now;
    await ctx.db.$transaction(async (tx) => {
      const accountId = await setEmailProblem(tx, { email }, problem, { at, by });
      if (accountId) await recordSecurityEvent(tx, now, accountId, event, caller, { actor: "service" });
    });
  }
}

async function readEvents(ctx: Deps, { raw, headers }: Delivery): Promise<EmailEvent[]> {
  const secrets = ctx.config.EMAIL_EVENTS_SECRET;
  if (secrets.length === 0) throw new AppError("webhook_not_configured");
  if (headers.get("svix-id") !== null) {
    const keys = secrets.filter((secret) => secret.startsWith("whsec_")); // another one can be an empty key in base64
    if (!isSigned("svix", { raw, headers }, keys, ctx.now())) throw new AppError("webhook_unauthorized");
    return read(readResend, parseJson(raw));
  }
  requirePassword(secrets, headers.get("authorization"));
  const body = parseJson(raw);
  if (headers.get("x-amz-sns-message-type") === null) return read(readPostmark, body);
  const text = await readSnsMessage(ctx, body);
  return text === null ? [] : read(readSes, parseNotification(text));
}

/** The reader's events. @throws AppError validation_failed for a body that is no object */
function read(reader: (body: unknown) => EmailEvent[], body: unknown): EmailEvent[] {
  try {
    return reader(body);
  } catch (cause) {
    throw new AppError("validation_failed", { detail: "The event is not as the provider documents it.", cause });
  }
}

/** Amazon SES begins with a message that is text. */
function parseNotification(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/**
 * Requires the secret as the password of HTTP Basic authentication (RFC 7617), with any user. Amazon SNS sends it once it is asked
 * for. @throws AppError webhook_unauthorized
 */
function requirePassword(secrets: readonly string[], authorization: string | null): void {
  const [, credentials = ""] = /^Basic +([\w+/=]+)$/i.exec(authorization ?? "") ?? [];
  const [, ...password] = Buffer.from(credentials, "base64").toString().split(":");
  if (matchesAny(secrets, password.join(":"))) return;
  throw new AppError("webhook_unauthorized", { headers: { "WWW-Authenticate": 'Basic realm="homeport"' } });
}
