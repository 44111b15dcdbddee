import { brandStylesheet } from "@/lib/brand/brand";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/brand/style.css", {
  GET: endpoint({
    summary: "Get the brand's colors",
    database: false,
    writes: "raw",
    responses: { 200: null },
    handle: ({ ctx }) =>
      new RouteResponse(200, brandStylesheet(ctx.config), {
        "Content-Type": "text/css; charset=utf-8",
        "Cache-Control": "public, max-age=3600",
      }),
  }),
});
