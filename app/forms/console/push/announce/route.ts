import { announceVersion } from "@/lib/admin/push/announce";
import { AnnounceForm } from "@/lib/admin/push/forms";
import { DEFAULT_PER_SECOND } from "@/lib/admin/push/schema";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/push/announce", {
  summary: "Announce a version",
  page: "/console/push/announce",
  body: AnnounceForm,
  handle: async ({ ctx, body: { version, bundleId, perSecond = DEFAULT_PER_SECOND } }, operator) => {
    const { id } = await announceVersion(ctx, operator, {
      kind: "app.new_version",
      version,
      to: { bundleId },
      perSecond,
    });
    return { to: `/console/push/messages/${id}`, done: "announced" };
  },
});
