import { AppError } from "@/lib/errors";
import { declare } from "@/lib/operation";
import { defineRoute, forEveryMethod } from "@/lib/platform/http/route";

const nothing = declare({
  summary: "Anything else under /api",
  database: false,
  response: { status: 404, schema: null },
  run: () => {
    throw new AppError("not_found");
  },
});

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/[[...path]]",
  forEveryMethod(nothing),
);
