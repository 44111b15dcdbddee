import { withState } from "@/app/api/admin/if-match";
import { previewChange } from "@/lib/admin/releases/preview/preview-change";
import { ProposedChange, ReleasePreview } from "@/lib/admin/releases/preview/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/previews", {
  POST: endpoint({
    summary: "Preview a change of releases",
    auth: { role: "support", scope: "releases:read" },
    body: ProposedChange,
    errors: [
      ...(["release_not_found", "rollout_not_found", "release_invalid", "release_yanked", "release_conflict"] as const),
      ...(["confirmation_required", "catalog_not_editable", "catalog_invalid", "catalog_unavailable"] as const),
    ],
    responses: { 200: ReleasePreview },
    handle: async ({ ctx, body }) => {
      const { preview, state } = await previewChange(ctx, body);
      return withState(preview, state);
    },
  }),
});
