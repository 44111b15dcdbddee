import { PruneBatch, PrunedBatch } from "@/lib/admin/billing/changes-schema";
import { prunePayloads } from "@/lib/admin/billing/prune-payloads";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/prune", {
  POST: endpoint({
    summary: "Delete old payloads",
    auth: { role: "admin", stepUp: true, scope: "billing:write" },
    idempotency: "replay",
    body: PruneBatch,
    isBodyOptional: true,
    errors: ["retention_not_configured"],
    responses: { 200: PrunedBatch },
    handle: ({ ctx, principal, body, caller }) => prunePayloads(ctx, operatorOf(principal, caller), body),
  }),
});
