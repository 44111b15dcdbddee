import { z } from "zod";
import { Action } from "../../actions/action";
import { formatCount, formatShare } from "../../components/figures";
import { Section } from "../../components/headings";

const TITLES = { replays: "Replay", reconciliations: "Reconciliation", prune: "Deletion of old payloads" };

/** Work that a form has begun and not finished: where it goes on, how much of it is done, and how many failed. */
export const BatchQuery = z.object({
  batch: z.enum(["replays", "reconciliations", "prune"]).optional().catch(undefined),
  at: z.string().max(512).optional().catch(undefined),
  only: z.string().max(16).optional().catch(undefined),
  share: z.coerce.number().min(0).max(1).optional().catch(undefined),
  failures: z.coerce.number().int().min(0).optional().catch(undefined),
});
export type BatchQuery = z.infer<typeof BatchQuery>;

/** How far work has come that takes several requests, and the button that goes on. */
export function BatchProgress({ batch, at, only, share = 0, failures = 0 }: BatchQuery) {
  if (batch === undefined) return null;
  const failed = failures === 0 ? "" : ` ${formatCount(failures)} failed.`;
  const values = { ...(at === undefined ? {} : { cursor: at }), ...(only === undefined ? {} : { state: only }) };
  return (
    <Section title={TITLES[batch]}>
      <p>
        <progress value={share} max={1} aria-label={TITLES[batch]} /> {formatShare(share)} done.{failed}
      </p>
      {at !== undefined && (
        <Action
          form={`/forms/console/billing/${batch}`}
          label="Go on"
          title={`Go on with the ${TITLES[batch].toLowerCase()}?`}
          submit="Go on"
          values={{ ...values, failures: String(failures) }}
        >
          <p>The next part takes up to ten seconds. You can stop at any time, and begin again later.</p>
        </Action>
      )}
    </Section>
  );
}
