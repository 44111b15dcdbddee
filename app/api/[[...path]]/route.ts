import { AppError } from "@/lib/errors";
import { defineRoute, endpoint } from "@/lib/http/route";

const nothing = endpoint({
  summary: "Anything else under /api",
  database: false,
  responses: { 404: null },
  handle: () => {
    throw new AppError("not_found");
  },
});

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/[[...path]]", {
  GET: nothing,
  HEAD: nothing,
  POST: nothing,
  PUT: nothing,
  PATCH: nothing,
  DELETE: nothing,
  OPTIONS: nothing,
});
