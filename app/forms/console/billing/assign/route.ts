import { z } from "zod";
import { Reason } from "@/lib/platform/audit/reason";
import { assignPurchases } from "@/lib/subscriptions/admin/assign-purchases";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/billing/assign", {
  summary: "Assign an unlinked customer's purchases to an account",
  page: "/console/billing",
  body: z.object({
    purchaseId: z.uuid(),
    accountId: z.string().trim().toLowerCase().pipe(z.uuid("Must be an account's id")),
    reason: Reason,
  }),
  handle: async ({ ctx, body }, operator) => {
    const { eventId } = await assignPurchases(ctx, operator, { ...body, isDryRun: false });
    return { done: eventId === null ? "assigned_before" : "assigned" };
  },
});
