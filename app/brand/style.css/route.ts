import { brandStylesheet } from "@/lib/brand/brand";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http-message";
import { declare } from "@/lib/operation";

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
