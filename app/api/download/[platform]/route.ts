import { ready } from "@/lib/http/reply";
import { defineRoute, endpoint } from "@/lib/http/route";
import { openDownload } from "@/lib/releases/download";
import { conditionsOf } from "@/lib/releases/exchange";
import { DownloadParams, DownloadQuery } from "@/lib/releases/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/download/[platform]", {
  GET: endpoint({
    summary: "Download an installer or an update",
    database: false,
    params: DownloadParams,
    query: DownloadQuery,
    responses: { 200: null, 206: null, 302: null, 304: null },
    handle: async ({ ctx, request, params, query, log }) =>
      ready(await openDownload({ catalog: ctx.catalog, log }, { ...query, ...params }, conditionsOf(request))),
  }),
});
