import { AdoptionQuery, AdoptionReport, readAdoption } from "@/lib/admin/releases/adoption";
import { withReadDb } from "@/lib/context";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/adoption", {
  GET: endpoint({
    summary: "Get the adoption of versions",
    auth: { role: "support", scope: "releases:read" },
    query: AdoptionQuery,
    responses: { 200: AdoptionReport },
    handle: ({ ctx, query }) => readAdoption(withReadDb(ctx), query),
  }),
});
