import { z } from "zod";
import { billingOperations } from "@/lib/subscriptions/admin/operations";
import { Action } from "../components/action";
import { formatCount, formatShare } from "../components/format-numbers";
import { Section } from "../components/headings";

const TITLES = { replays: "Replay", reconciliations: "Reconciliation", prune: "Deletion of old payloads" };

const OPERATIONS = {
  replays: billingOperations.replayBillingEvents,
  reconciliations: billingOperations.reconcilePurchases,
  prune: billingOperations.pruneBillingPayloads,
};

/** Work that a form has started and not finished: where it continues, how much is done, and how many failed. */
export const BatchQuery = z.object({
  batch: z.enum(["replays", "reconciliations", "prune"]).optional().catch(undefined),
  at: z.string().max(512).optional().catch(undefined),
  only: z.string().max(16).optional().catch(undefined),
  share: z.coerce.number().min(0).max(1).optional().catch(undefined),
  failures: z.coerce.number().int().min(0).optional().catch(undefined),
});
export type BatchQuery = z.infer<typeof BatchQuery>;

/** The progress of work that takes several requests, and the button that continues it. */
export function BatchProgress({ batch, at, only, share = 0, failures = 0 }: BatchQuery) {
  if (batch === undefined) return null;
  const failed = failures === 0 ? "" : ` ${formatCount(failures)} failed.`;
  return (
    <Section title={TITLES[batch]}>
      <p>
        <progress value={share} max={1} aria-label={TITLES[batch]} /> {formatShare(share)} done.{failed}
      </p>
      {at !== undefined && (
        <Action
          operation={OPERATIONS[batch]}
          label="Continue"
          title={`Continue the ${TITLES[batch].toLowerCase()}?`}
          submit="Continue"
          params={{ cursor: at, state: only, failures: String(failures) }}
        >
          <p>The next part takes up to ten seconds. You can stop at any time, and begin again later.</p>
        </Action>
      )}
    </Section>
  );
}
