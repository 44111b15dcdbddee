import { z } from "zod";
import { ReplayBatch } from "@/lib/subscriptions/admin/changes-schema";
import { replayBatch } from "@/lib/subscriptions/admin/replay-events";
import { defineConsoleForm } from "../../define-console-form";
import { batchPage } from "../batch-page";

const MAX_REPLAYED_EVENTS = 200;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/billing/replays", {
  summary: "Apply the next billing events of a state again",
  page: "/console/billing",
  body: ReplayBatch.omit({ limit: true }).extend({ failures: z.coerce.number().int().min(0).default(0) }),
  handle: async ({ ctx, body: { failures, ...batch } }, operator) => {
    const replayed = await replayBatch(ctx, operator, { ...batch, limit: MAX_REPLAYED_EVENTS });
    const shown = { failures: failures + replayed.failures.length, only: batch.state };
    return { to: batchPage("replays", replayed, shown) };
  },
});
