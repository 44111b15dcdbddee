import { z } from "zod";
import { Reconciliation } from "@/lib/subscriptions/admin/changes-schema";
import { reconcileCustomers } from "@/lib/subscriptions/admin/reconcile";
import { defineConsoleForm } from "../../define-console-form";
import { batchPage } from "../batch-page";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm(
  "/forms/console/billing/reconciliations",
  {
    summary: "Compare the next customers with the billing provider",
    page: "/console/billing",
    body: Reconciliation.omit({ accountId: true }).extend({ failures: z.coerce.number().int().min(0).default(0) }),
    handle: async ({ ctx, body: { failures, ...batch } }, operator) => {
      const reconciled = await reconcileCustomers(ctx, operator, batch);
      const failed = reconciled.customers.filter(({ failure }) => failure !== null).length;
      const to = batchPage("reconciliations", reconciled, { failures: failures + failed });
      return reconciled.retry ? { to, done: "provider_waits" } : { to };
    },
  },
);
