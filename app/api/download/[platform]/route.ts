import { downloadResponse } from "@/lib/http/content/download-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { resolveClientId } from "@/lib/releases/client-id";
import { DOWNLOAD_ERRORS, resolveDownload } from "@/lib/releases/download";
import { DownloadParams, DownloadQuery } from "@/lib/releases/http-schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/download/[platform]", {
  GET: endpoint({
    summary: "Download an installer or an update",
    database: false,
    writes: "raw",
    params: DownloadParams,
    query: DownloadQuery,
    errors: DOWNLOAD_ERRORS,
    responses: { 200: null, 206: null, 302: null, 304: null },
    handle: async ({ ctx: { adoption, catalog, storage }, request, params, query, log }) => {
      const clientId = resolveClientId(query.clientId, request.headers.get("x-user-staging-id"));
      const recordDownload = request.method === "HEAD" ? () => {} : adoption.recordDownload;
      const deps = { catalog, storage, log, recordDownload };
      const content = await resolveDownload(deps, { ...query, ...params, clientId });
      return downloadResponse(content, request);
    },
  }),
});
