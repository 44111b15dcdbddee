import { AppError } from "@/lib/errors";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute, forEveryMethod } from "@/lib/http/route";

const nothing = endpoint({
  summary: "Anything else under /forms",
  database: false,
  responses: { 404: null },
  handle: () => {
    throw new AppError("not_found");
  },
});

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/forms/[...path]",
  forEveryMethod(nothing),
);
