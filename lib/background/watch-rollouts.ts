import { queueRolloutHalted } from "../accounts/emails/operator-emails";
import type { Context } from "../context";
import { COMMAND_LINE, recordOperatorEvent } from "../platform/audit/operator-events";
import { advanceRollouts } from "../releases/rollouts/advance-rollouts";
import { writeCompletedRollouts } from "../releases/rollouts/write-completed-rollouts";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "emails" | "log" | "now" | "rollouts">;

/**
 * Advances the rollouts that are due and halts those that go wrong, with an event in the audit trail and emails. Writes the
 * completed ones to the catalog.
 */
export async function watchRollouts(deps: Deps): Promise<void> {
  const { config, db, dbNow, emails, log, rollouts } = deps;
  const operator = { actor: "service", accountId: null, source: COMMAND_LINE } as const;
  const changes = await advanceRollouts({
    db,
    dbNow,
    rollouts,
    onChange: async (tx, at, { type, schedule, rollout, reason }) => {
      const { id, product, version } = schedule;
      const details = { product, version, rollout, reason };
      await recordOperatorEvent(tx, at, operator, { type, target: `rollout:${id}`, details });
      if (reason !== null) await queueRolloutHalted({ config, emails }, tx, { product, version, reason });
    },
  });
  for (const { type, schedule, rollout, reason } of changes) {
    const { product, version } = schedule;
    log[reason === null ? "info" : "error"]({ product, version, rollout, reason }, type.replace("_", " "));
  }
  if (changes.some(({ reason }) => reason !== null)) emails.wake();
  await writeCompletedRollouts(deps);
}
