import { ReconciledCustomers, Reconciliation } from "@/lib/admin/billing/changes-schema";
import { reconcileCustomers } from "@/lib/admin/billing/reconcile";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/reconciliations", {
  POST: endpoint({
    summary: "Compare customers' purchases with the billing provider",
    auth: { role: "admin", stepUp: true, scope: "billing:write" },
    idempotency: "replay",
    body: Reconciliation,
    errors: ["billing_api_not_configured"],
    responses: { 200: ReconciledCustomers },
    handle: ({ ctx, principal, body, caller }) => reconcileCustomers(ctx, operatorOf(principal, caller), body),
  }),
});
