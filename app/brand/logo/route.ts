import { z } from "zod";
import { declare } from "@/lib/operation";
import { readLogo } from "@/lib/platform/brand";
import { defineRoute } from "@/lib/platform/http/route";
import { RouteResponse } from "@/lib/platform/http-message";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/brand/logo", {
  GET: declare({
    summary: "Get the brand's logo",
    database: false,
    writes: "raw",
    query: z.object({ theme: z.enum(["light", "dark"]).default("light") }),
    response: { status: 200, schema: null },
    run: async ({ ctx: { config }, query }) => {
      const { bytes, type } = await readLogo(query.theme === "dark" ? config.BRAND_LOGO_DARK : config.BRAND_LOGO);
      return new RouteResponse(200, bytes, { "Content-Type": type, "Cache-Control": "public, max-age=3600" });
    },
  }),
});
