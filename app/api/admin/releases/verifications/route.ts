import { Verification, VerifiedRelease, verifyRelease } from "@/lib/admin/releases/api/verify-release";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/verifications", {
  POST: endpoint({
    summary: "Verify the files of a release",
    auth: { role: "support", scope: "releases:read" },
    body: Verification,
    errors: ["release_not_found", "catalog_not_editable", "catalog_invalid"],
    responses: { 200: VerifiedRelease },
    handle: ({ ctx, body }) => verifyRelease(ctx, body),
  }),
});
