import { z } from "zod";
import { Reconciliation } from "@/lib/subscriptions/admin/changes-schema";
import { reconcileCustomers } from "@/lib/subscriptions/admin/reconcile";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/billing/reconcile", {
  summary: "Compare an account with the billing provider",
  page: "/console/billing",
  body: Reconciliation.pick({ reason: true }).extend({ accountId: z.uuid().toLowerCase() }),
  handle: async ({ ctx, body }, operator) => {
    const { customers, nextCursor } = await reconcileCustomers(ctx, operator, body);
    const isWhole = nextCursor === null && customers.every(({ failure }) => failure === null);
    return { done: isWhole ? "reconciled" : "reconcile_failed" };
  },
});
