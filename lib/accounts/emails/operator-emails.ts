import type { Context, Tx } from "../../context";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { adminEmails } from "../../platform/find-account";
import type { EmailData } from "../../platform/mail/emails";
import type { DisabledEndpoint } from "../../webhooks/deliver";

type Deps = Pick<Context, "config"> & { emails: Pick<Context["emails"], "enqueue"> };

/** Queues an email to every operator about a halted rollout. */
export async function queueRolloutHalted(deps: Deps, tx: Tx, halted: EmailData["rollout_halted"]): Promise<void> {
  for (const email of await operatorEmails(deps, tx)) await deps.emails.enqueue(tx, "rollout_halted", email, halted);
}

/** Records that the service has disabled a webhook endpoint, and queues an email to every operator. */
export async function announceDisabledEndpoint(
  { now, ...deps }: Deps & Pick<Context, "now">,
  tx: Tx,
  { id, url, reason }: DisabledEndpoint,
): Promise<void> {
  const service = { actor: "service", accountId: null, source: { ip: "unknown", userAgent: null } } as const;
  const event = { type: "webhook_disabled", target: `webhook:${id}`, details: { url, reason } } as const;
  await recordOperatorEvent(tx, now(), service, event);
  for (const email of await operatorEmails(deps, tx)) {
    await deps.emails.enqueue(tx, "webhook_disabled", email, { url, reason });
  }
}

/** The emails in OPERATOR_EMAIL, or those of the accounts with the role admin. */
async function operatorEmails({ config }: Deps, tx: Tx): Promise<string[]> {
  return config.OPERATOR_EMAIL.length > 0 ? config.OPERATOR_EMAIL : adminEmails(tx);
}
