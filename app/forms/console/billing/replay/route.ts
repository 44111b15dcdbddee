import { z } from "zod";
import { Reason } from "@/lib/platform/audit/reason";
import { replayEvent } from "@/lib/subscriptions/admin/replay-events";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/billing/replay", {
  summary: "Apply a billing event again",
  page: "/console/billing",
  body: z.object({ id: z.uuid(), reason: Reason.optional() }),
  handle: async ({ ctx, body: { id, reason } }, operator) => {
    const { status } = await replayEvent(ctx, operator, id, { reason });
    return { to: `/console/billing/events/${id}`, done: `event_${status}` };
  },
});
