import { declare } from "@/lib/operation";
import { brandStylesheet } from "@/lib/platform/brand";
import { defineRoute } from "@/lib/platform/http/route";
import { RouteResponse } from "@/lib/platform/http-message";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/brand/style.css", {
  GET: declare({
    summary: "Get the brand's colors",
    database: false,
    writes: "raw",
    response: { status: 200, schema: null },
    run: ({ ctx }) =>
      new RouteResponse(200, brandStylesheet(ctx.config), {
        "Content-Type": "text/css; charset=utf-8",
        "Cache-Control": "public, max-age=3600",
      }),
  }),
});
