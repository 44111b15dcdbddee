import { defineRoute, endpoint } from "@/lib/http/route";
import { DOWNLOAD_ERRORS, resolveDownload } from "@/lib/releases/download";
import { clientIdOf, conditionsOf } from "@/lib/releases/exchange";
import { DownloadParams, DownloadQuery } from "@/lib/releases/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/download/[platform]", {
  GET: endpoint({
    summary: "Download an installer or an update",
    database: false,
    writes: "raw",
    params: DownloadParams,
    query: DownloadQuery,
    errors: DOWNLOAD_ERRORS,
    responses: { 200: null, 206: null, 302: null, 304: null },
    handle: async ({ ctx: { catalog, storage }, request, params, query, log }) => {
      const wish = { ...query, ...params, clientId: clientIdOf(request, query) };
      return resolveDownload({ catalog, storage, log }, wish, conditionsOf(request));
    },
  }),
});
