import { ifMatch, withSeenState } from "@/app/api/admin/if-match";
import { operatorOf } from "@/lib/admin/operator";
import { pruneCatalog } from "@/lib/admin/releases/api/maintain-catalog";
import { CatalogPrune, PrunedCatalog } from "@/lib/admin/releases/schemas/maintenance";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/prune", {
  POST: endpoint({
    summary: "Remove old releases and unused files",
    auth: { role: "admin", stepUp: true, scope: "releases:write" },
    idempotency: "replay",
    body: CatalogPrune,
    errors: ["catalog_not_editable", "catalog_invalid", "catalog_locked", "disk_full", "precondition_failed"],
    responses: { 200: PrunedCatalog },
    handle: async ({ ctx, principal, body, caller, request }) =>
      withSeenState(await pruneCatalog(ctx, operatorOf(principal, caller), body, ifMatch(request))),
  }),
});
