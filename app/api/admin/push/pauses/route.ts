import { listPauses } from "@/lib/admin/push/pauses";
import { PushPauses } from "@/lib/admin/push/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/pauses", {
  GET: endpoint({
    summary: "List the APNs environments that are paused",
    auth: { role: "support", scope: "push:read" },
    responses: { 200: PushPauses },
    handle: ({ ctx }) => listPauses(ctx),
  }),
});
