import { ifMatch } from "@/app/api/admin/if-match";
import { operatorOf } from "@/lib/admin/operator";
import { promoteInCatalog } from "@/lib/admin/releases/api/maintain-catalog";
import { PromotedReleases, Promotion } from "@/lib/admin/releases/schemas/maintenance";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/promotions", {
  POST: endpoint({
    summary: "Offer builds on another channel",
    auth: { role: "admin", stepUp: true, scope: "releases:write" },
    idempotency: "replay",
    body: Promotion,
    errors: [
      ...(["catalog_not_editable", "catalog_invalid", "catalog_locked", "disk_full", "release_invalid"] as const),
      ...(["release_not_found", "release_conflict", "release_yanked", "confirmation_required"] as const),
      "precondition_failed",
    ],
    responses: { 200: PromotedReleases },
    handle: ({ ctx, principal, body, caller, request }) =>
      promoteInCatalog(ctx, operatorOf(principal, caller), body, ifMatch(request)),
  }),
});
