import { AppError } from "@/lib/errors";
import { defineRoute, forEveryMethod } from "@/lib/http/route";
import { declare } from "@/lib/operation";

const nothing = declare({
  summary: "Anything else under /forms",
  database: false,
  response: { status: 404, schema: null },
  run: () => {
    throw new AppError("not_found");
  },
});

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/forms/[...path]",
  forEveryMethod(nothing),
);
