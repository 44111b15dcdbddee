import { z } from "zod";
import { documentResponse } from "@/lib/http/content/document-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { resolveClientId } from "@/lib/releases/client-id";
import { ReleaseVersion, ServiceVersion, VersionQuery } from "@/lib/releases/http-schema";
import { resolveVersion } from "@/lib/releases/resolve-version";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/version", {
  GET: endpoint({
    summary: "Get the service's version, or the newest release for a platform, product and architecture",
    database: false,
    writes: "raw",
    query: VersionQuery,
    errors: ["release_not_found", "catalog_unavailable"],
    responses: { 200: z.union([ServiceVersion, ReleaseVersion]), 204: null, 304: null },
    handle: (input) => {
      const { ctx, query, request } = input;
      const clientId = resolveClientId(query.clientId, request.headers.get("x-user-staging-id"));
      const client = { clientId, userAgent: request.headers.get("user-agent"), network: () => input.ip };
      return documentResponse(resolveVersion(ctx, query, client), request);
    },
  }),
});
