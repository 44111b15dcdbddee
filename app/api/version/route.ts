import { z } from "zod";
import { defineRoute, endpoint } from "@/lib/http/route";
import { clientIdOf, conditionsOf } from "@/lib/releases/exchange";
import { ReleaseVersion, ServiceVersion, VersionQuery } from "@/lib/releases/schema";
import { resolveVersion } from "@/lib/releases/version";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/version", {
  GET: endpoint({
    summary: "The service's version, or the newest release for a platform, product and architecture",
    database: false,
    writes: "raw",
    query: VersionQuery,
    errors: ["release_not_found", "catalog_unavailable"],
    responses: { 200: z.union([ServiceVersion, ReleaseVersion]), 204: null, 304: null },
    handle: ({ ctx, request, query }) => resolveVersion(ctx, query, conditionsOf(request), clientIdOf(request, query)),
  }),
});
