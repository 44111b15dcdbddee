import { z } from "zod";
import { readLogo } from "@/lib/brand/brand";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/brand/logo", {
  GET: endpoint({
    summary: "Get the brand's logo",
    database: false,
    writes: "raw",
    query: z.object({ theme: z.enum(["light", "dark"]).default("light") }),
    responses: { 200: null },
    handle: async ({ ctx: { config }, query }) => {
      const { bytes, type } = await readLogo(query.theme === "dark" ? config.BRAND_LOGO_DARK : config.BRAND_LOGO);
      return new RouteResponse(200, bytes, { "Content-Type": type, "Cache-Control": "public, max-age=3600" });
    },
  }),
});
