import { ifMatch, withSeenState } from "@/app/api/admin/if-match";
import { operatorOf } from "@/lib/admin/operator";
import { removeFromCatalog } from "@/lib/admin/releases/api/maintain-catalog";
import { Removal } from "@/lib/admin/releases/schemas/maintenance";
import { RemovalResult } from "@/lib/admin/releases/schemas/releases";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/removals", {
  POST: endpoint({
    summary: "Remove several releases at once",
    auth: { role: "admin", stepUp: true, scope: "releases:write" },
    idempotency: "replay",
    body: Removal,
    errors: [
      ...(["catalog_not_editable", "catalog_invalid", "catalog_locked", "disk_full", "release_invalid"] as const),
      ...(["release_not_found", "release_in_use", "precondition_failed"] as const),
    ],
    responses: { 200: RemovalResult },
    handle: async ({ ctx, principal, body, caller, request }) =>
      withSeenState(await removeFromCatalog(ctx, operatorOf(principal, caller), body, ifMatch(request))),
  }),
});
