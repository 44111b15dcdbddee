import { announceVersion } from "@/lib/push/admin/announce";
import { isOffered } from "@/lib/push/admin/announcement-warnings";
import { AnnounceForm, toAudience, toSendAt } from "@/lib/push/admin/forms";
import { DEFAULT_PER_SECOND } from "@/lib/push/admin/schema";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/push/announce", {
  summary: "Announce a version",
  page: "/console/push/announce",
  body: AnnounceForm,
  handle: async ({ ctx, body }, operator) => {
    const { version, isWarned, perSecond = DEFAULT_PER_SECOND } = body;
    if (!isWarned && !(await isOffered(ctx, version))) return { done: "stale" }; // a new preview
    const { bundleId, ...choices } = toAudience(body);
    const isEveryone = Object.values(choices).every((choice) => choice === undefined);
    const to = isEveryone ? { bundleId } : { audience: { bundleId, ...choices } };
    const announcement = { kind: "app.new_version", version, to, perSecond, sendAt: toSendAt(body) } as const;
    const { id } = await announceVersion(ctx, operator, announcement);
    return { to: `/console/push/messages/${id}`, done: "announced" };
  },
});
