import { assignPurchases } from "@/lib/admin/billing/assign-purchases";
import { AssignedPurchases, Assignment } from "@/lib/admin/billing/changes-schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/assignments", {
  POST: endpoint({
    summary: "Assign an unlinked customer's purchases to an account",
    auth: { role: "admin", stepUp: true, scope: "billing:write" },
    idempotency: "replay",
    body: Assignment,
    errors: ["not_found", "assignment_conflict"],
    responses: { 200: AssignedPurchases },
    handle: ({ ctx, principal, body, caller }) => assignPurchases(ctx, operatorOf(principal, caller), body),
  }),
});
