import { ifMatch } from "@/app/api/admin/if-match";
import { operatorOf } from "@/lib/admin/operator";
import { rollBackCatalog } from "@/lib/admin/releases/api/maintain-catalog";
import { Rollback, RolledBack } from "@/lib/admin/releases/schemas/maintenance";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/rollbacks", {
  POST: endpoint({
    summary: "Roll back to an older release",
    auth: { role: "admin", stepUp: true, scope: "releases:write" },
    idempotency: "replay",
    body: Rollback,
    errors: [
      ...(["catalog_not_editable", "catalog_invalid", "catalog_locked", "disk_full", "release_invalid"] as const),
      ...(["release_not_found", "release_yanked", "precondition_failed"] as const),
    ],
    responses: { 200: RolledBack },
    handle: ({ ctx, principal, body, caller, request }) =>
      rollBackCatalog(ctx, operatorOf(principal, caller), body, ifMatch(request)),
  }),
});
