import { contentResponse } from "@/lib/http/content/content-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { DOWNLOAD_ERRORS } from "@/lib/releases/download";
import { UpdateParams, UpdateQuery } from "@/lib/releases/http-schema";
import { resolveUpdate } from "@/lib/releases/updates/resolve-update";

const PATH = "/api/updates/[product]/[channel]/[...file]";
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(PATH, {
  GET: endpoint({
    summary: "Get an updater's feed, or a file of a release",
    database: false,
    writes: "raw",
    params: UpdateParams,
    query: UpdateQuery,
    errors: DOWNLOAD_ERRORS,
    responses: { 200: null, 204: null, 206: null, 302: null, 304: null },
    handle: async ({ ctx, request, params, query, caller, log }) => {
      const [stagingId, userAgent] = [request.headers.get("x-user-staging-id"), request.headers.get("user-agent")];
      const recordDownload = request.method === "HEAD" ? () => {} : ctx.adoption.recordDownload;
      const client = { stagingId, userAgent, network: () => caller.ip };
      return contentResponse(await resolveUpdate({ ...ctx, log, recordDownload }, params, query, client), request);
    },
  }),
});
