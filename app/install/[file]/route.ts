import { z } from "zod";
import { declare } from "@/lib/operation";
import { downloadResponse } from "@/lib/platform/http/content/content-response";
import { defineRoute } from "@/lib/platform/http/route";
import { findTool } from "@/lib/platform/tools";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/install/[file]", {
  GET: declare({
    summary: "Get a package of the tools",
    database: false,
    writes: "raw",
    params: z.object({ file: z.string() }),
    response: { status: 200, schema: null },
    run: async ({ ctx: { config }, params, request }) => downloadResponse(await findTool(config, params.file), request),
  }),
});
